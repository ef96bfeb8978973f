"""A run with every stage, as small as the stages allow, in a separate folder."""

import json
import os
import re
import shutil
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml
from parkf.io.usage import read_usage
from parkf.workflow.running.shared import STORE
from tools.faults.forked import Forked, commanded, led

from parkf.workflow.config_files import laid, read_layers

ROOT = Path(__file__).parents[2]
RUN = "faults"
# Files that depend on the machine, the time or the commit, and pages that show their figures.
_OF_THE_MOMENT = re.compile(r"logs/.*|run\.json|stages\.json|throughput\.json|report/.*|\.lock")
# The line that a command prints, somewhere in its output, if it cannot continue.
_SAID = re.compile(r"^error: .+$|at work here", re.MULTILINE)
_PATIENCE_S = 1800.0
# The store of shared products is not copied, so that the run does all work itself.
WITHOUT_STORE = shutil.ignore_patterns(STORE.name)


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code, and all that it printed."""

    code: int
    said: str

    @property
    def clear(self) -> bool:
        """Whether one separate line of the output names the fault, and there is no traceback."""
        return bool(_SAID.search(self.said)) and "Traceback" not in self.said

    def lines(self, pattern: str) -> str:
        """Return the first line in which the pattern is found, or an empty string."""
        return next((line for line in self.said.splitlines() if re.search(pattern, line)), "")


def configuration() -> dict[str, object]:
    """Return the smoke configuration with fewer events, one polarity, and also the stages that it skips."""
    config = laid(read_layers(ROOT / "workflow/config/smoke.yaml"))
    config["run"] = RUN
    config["polarities"] = ["up"]
    config["events"] |= {"training": 125, "validation": 25}
    config["misalignment"] = {"scifi_module": 0.1, "scifi_mat": 0.05}
    config["signals"] = {"collisions": 12000}
    config["field"]["spacing"] = 200
    config["training"] |= {"rays": 10000, "closure": {"tracks": 8000, "rays": 10000, "passes": 1}}
    config["fits"]["of"] = ["parkf", "parkf_robust", "velo_only", "full"]
    return config


class Project:
    """A folder in which the run starts as `make run` would start it.

    Parameters
    ----------
    folder : Path
        Folder with inputs, results and Snakemake's records.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results" / RUN

    @classmethod
    def new(cls, folder: Path) -> "Project":
        """Make a folder that has the inputs of a run and no results."""
        if not (folder / "faults.yaml").exists():
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copytree(ROOT / "data", folder / "data", dirs_exist_ok=True)
            (folder / "faults.yaml").write_text(yaml.safe_dump(configuration()))
        return cls(folder)

    def copy(self, folder: Path) -> "Project":
        """Copy the folder with the times of its files; an older folder of that name is removed.

        Results that no program changes in place are hard links: the copy shares their content.
        """
        shutil.rmtree(folder, ignore_errors=True)
        results = str(self.results)

        def copied(source: str, target: str) -> object:
            replaced = source.startswith(results) and not source.endswith((".log", ".lock"))
            return os.link(source, target) if replaced else shutil.copy2(source, target)

        shutil.copytree(self.folder, folder, symlinks=True, ignore=WITHOUT_STORE, copy_function=copied)
        return Project(folder)

    def record(self, name: str) -> dict[str, Any]:
        """Return Snakemake's record of how a file was made."""
        key = urlsafe_b64encode(f"results/{RUN}/{name}".encode()).decode()
        return json.loads((self.folder / ".snakemake/metadata" / key).read_text())

    def start(self, *targets: str, cores: int = 1, said: str = "said") -> Forked:
        """Start the run, or the part of it that makes the targets, in a new process group."""
        snakemake = [
            *("--snakefile", str(ROOT / "Snakefile")),
            *("--workflow-profile", str(ROOT / "workflow/profiles/local"), "--nolock", "--rerun-incomplete"),
            *("--configfile", "faults.yaml", "--cores", str(cores)),
            *(["--", *(f"results/{RUN}/{name}" for name in targets)] if targets else []),
        ]
        # The output goes to a file, not to a pipe: a job that outlives the run would hold a pipe open.
        return led(self.folder, f"results/{RUN}", snakemake, said)

    def end(self, run: Forked, said: str = "said") -> Ended:
        """Wait for the end of a run."""
        code = run.wait(_PATIENCE_S)
        return Ended(code, (self.folder / said).read_text(errors="replace"))

    def run(self, *targets: str, cores: int = 1) -> Ended:
        """Run to the end."""
        return self.end(self.start(*targets, cores=cores))

    def repeat(self, target: str) -> Ended:
        """Repeat the job that made a file, with the command that Snakemake has recorded."""
        job = self.record(target)["shellcmd"]
        # The shell expands the arguments of the command; a function prints them instead of running it.
        words = subprocess.run(
            ["bash", "-c", "parkf() { printf '%s\\0' \"$@\" >&3; }; exec 3>&1; " + job],
            cwd=self.folder,
            capture_output=True,
            check=True,
        ).stdout.split(b"\0")[:-1]
        return self.end(commanded(self.folder, [word.decode() for word in words], "said"))

    def files(self) -> dict[str, bytes]:
        """Return the run's files by their path in its folder, without those that depend on the machine."""
        found = {str(p.relative_to(self.results)): p for p in self.results.rglob("*") if p.is_file()}
        return {
            name: p.read_bytes() for name, p in sorted(found.items()) if not _OF_THE_MOMENT.fullmatch(name)
        }

    def work(self) -> dict[str, float]:
        """Return processor seconds of each finished job, by the name of its log."""
        logs = self.results / "logs"
        used = {
            str(p.relative_to(logs)): read_usage(p.read_text(errors="replace")) for p in logs.rglob("*.log")
        }
        return {name: usage.cpu_s for name, usage in sorted(used.items()) if usage}


def jobs(run: Forked) -> list[psutil.Process]:
    """Return the processes of the commands that a run's jobs execute now, without their leaders."""
    found = []
    for number in _descendants(run.pid):
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(number)
            line = _command(process)
            if any(word.endswith("/parkf") for word in line[:2]) and "kernel" not in line:
                found.append(process)
    return found


def log_of(job: psutil.Process) -> str | None:
    """Name the log that a job writes to, below the folder of logs."""
    try:
        return str(Path(f"/proc/{job.pid}/fd/2").readlink()).partition(f"results/{RUN}/logs/")[2] or None
    except OSError:
        return None


def processor_time(processes: Sequence[psutil.Process]) -> float:
    """Processor seconds that processes have taken so far."""
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def wait_until_gone(group: int) -> None:
    """Wait until no process of a group is left."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _descendants(parent: int) -> Iterator[int]:
    """Return the numbers of all descendants of a process; psutil would look at all other processes, too."""
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            for number in map(int, children.read_text().split()):
                yield number
                yield from _descendants(number)
