"""A run with every stage, as small as they allow, in a folder of its own."""

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
from tools.faults.forked import Forked, commanded, led

from parkf.io.usage import read_usage
from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.running.shared import STORE

ROOT = Path(__file__).parents[2]
RUN = "faults"
# Figures of the machine and of the moment, when and from which commit, and pages that show them.
_OF_THE_MOMENT = re.compile(r"logs/.*|run\.json|stages\.json|throughput\.json|report/.*|\.lock")
# What a user is told when a command cannot go on: one line, somewhere in what was said.
_SAID = re.compile(r"^error: .+$|at work here", re.MULTILINE)
_PATIENCE_S = 1800.0
# What another run could take: here work is to be done.
WITHOUT_STORE = shutil.ignore_patterns(STORE.name)


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code, and all that it printed."""

    code: int
    said: str

    @property
    def clear(self) -> bool:
        """Whether it says what is wrong in a line of its own, and shows nobody a traceback."""
        return bool(_SAID.search(self.said)) and "Traceback" not in self.said

    def lines(self, pattern: str) -> str:
        """Return the first line in which the pattern is found; empty where there is none."""
        return next((line for line in self.said.splitlines() if re.search(pattern, line)), "")


def configuration() -> dict[str, object]:
    """Return the smoke configuration with fewer events, one polarity, and the stages that it skips."""
    config = laid(read_layers(ROOT / "workflow/config/smoke.yaml"))
    config["run"] = RUN
    config["polarities"] = ["up"]
    config["events"] |= {"training": 125, "validation": 25}
    config["misalignment"] = {"scifi_module": 0.1, "scifi_mat": 0.05}
    config["signals"] = {"collisions": 12000}
    config["field"]["spacing"] = 200
    config["training"] |= {"rays": 10000, "closure": {"tracks": 5000, "rays": 10000, "passes": 1}}
    config["fits"]["of"] = ["parkf", "parkf_robust", "velo_only", "full"]
    return config


class Project:
    """A folder in which the run is led as `make run` leads it.

    Parameters
    ----------
    folder : Path
        With inputs, results and Snakemake's records.
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
        """Copy the folder with the times of its files; what lay there is gone.

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
        """Return what Snakemake has written down about the making of a file."""
        key = urlsafe_b64encode(f"results/{RUN}/{name}".encode()).decode()
        return json.loads((self.folder / ".snakemake/metadata" / key).read_text())

    def start(self, *targets: str, cores: int = 1, said: str = "said") -> Forked:
        """Start the run, or what makes these files of it, in a process group of its own."""
        snakemake = [
            *("--snakefile", str(ROOT / "Snakefile")),
            *("--workflow-profile", str(ROOT / "workflow/profiles/local"), "--nolock", "--rerun-incomplete"),
            *("--configfile", "faults.yaml", "--cores", str(cores)),
            *(["--", *(f"results/{RUN}/{name}" for name in targets)] if targets else []),
        ]
        # No pipe takes what is said: a job that outlives the run would hold it open.
        return led(self.folder, f"results/{RUN}", snakemake, said)

    def end(self, run: Forked, said: str = "said") -> Ended:
        """Wait for the end of a run."""
        code = run.wait(_PATIENCE_S)
        return Ended(code, (self.folder / said).read_text(errors="replace"))

    def run(self, *targets: str, cores: int = 1) -> Ended:
        """Run to the end."""
        return self.end(self.start(*targets, cores=cores))

    def repeat(self, target: str) -> Ended:
        """Do the job that has made a file once more, by the command that Snakemake has written down."""
        job = self.record(target)["shellcmd"]
        # The shell resolves its words; what it would run says them instead.
        words = subprocess.run(
            ["bash", "-c", "parkf() { printf '%s\\0' \"$@\" >&3; }; exec 3>&1; " + job],
            cwd=self.folder,
            capture_output=True,
            check=True,
        ).stdout.split(b"\0")[:-1]
        return self.end(commanded(self.folder, [word.decode() for word in words], "said"))

    def files(self) -> dict[str, bytes]:
        """Return what the run has made, by name below its folder, without figures of the machine."""
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
    """Return the commands that a run's jobs are just now: not what leads them."""
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
    """Return numbers of all processes below one, without looking at all others as psutil does."""
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            for number in map(int, children.read_text().split()):
                yield number
                yield from _descendants(number)
