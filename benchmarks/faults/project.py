"""A run with every stage, as small as they allow, in a folder of its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from parkf.layers import laid, read_layers
from parkf.usage import read_usage

ROOT = Path(__file__).parents[2]
RUN = "faults"
# Figures of the machine and of the moment, and pages that show them.
_OF_THE_MOMENT = re.compile(r"logs/.*|stages\.json|throughput\.json|report/.*|\.lock")
# What a user is told when a command cannot go on: one line, somewhere in what was said.
_SAID = re.compile(r"^error: .+$|at work here", re.MULTILINE)
_PATIENCE_S = 1800.0


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
        """Give the first line in which the pattern is found; empty where there is none."""
        return next((line for line in self.said.splitlines() if re.search(pattern, line)), "")


def configuration() -> dict[str, object]:
    """Take the smoke configuration, smaller, with one polarity, and with the stages that it leaves out."""
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
        """Make a folder with inputs, and nothing done."""
        if not (folder / "faults.yaml").exists():
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copytree(ROOT / "data", folder / "data", dirs_exist_ok=True)
            (folder / "faults.yaml").write_text(yaml.safe_dump(configuration()))
        return cls(folder)

    def copy(self, folder: Path) -> "Project":
        """Copy the folder with the times of its files; what lay there is gone."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)

    def start(self, *targets: str, cores: int = 1, said: str = "said") -> subprocess.Popen[bytes]:
        """Start the run, or what makes these files of it, in a process group of its own."""
        parkf = Path(sys.executable).with_name("parkf")
        command = [
            *(str(parkf), "supervise", f"results/{RUN}", "--"),
            *(sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")),
            *("--workflow-profile", str(ROOT / "workflow/profiles/local"), "--nolock", "--rerun-incomplete"),
            *("--configfile", "faults.yaml", "--cores", str(cores)),
            *(["--", *(f"results/{RUN}/{name}" for name in targets)] if targets else []),
        ]
        # No pipe: a job that outlives the run would hold it open.
        with (self.folder / said).open("wb") as file:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                stdout=file,
                stderr=file,
                start_new_session=True,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
                # Whoever starts this in the background may have all of it ignore interrupts.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def end(self, run: subprocess.Popen[bytes], said: str = "said") -> Ended:
        """Wait for the end of a run."""
        code = run.wait(_PATIENCE_S)
        return Ended(code, (self.folder / said).read_text(errors="replace"))

    def run(self, *targets: str, cores: int = 1) -> Ended:
        """Run to the end."""
        return self.end(self.start(*targets, cores=cores))

    def files(self) -> dict[str, bytes]:
        """Give what the run has made, by name below its folder, without figures of the machine."""
        found = {str(p.relative_to(self.results)): p for p in self.results.rglob("*") if p.is_file()}
        return {
            name: p.read_bytes() for name, p in sorted(found.items()) if not _OF_THE_MOMENT.fullmatch(name)
        }

    def work(self) -> dict[str, float]:
        """Give processor seconds of each finished job, by the name of its log."""
        logs = self.results / "logs"
        used = {
            str(p.relative_to(logs)): read_usage(p.read_text(errors="replace")) for p in logs.rglob("*.log")
        }
        return {name: usage.cpu_s for name, usage in sorted(used.items()) if usage}


def jobs(run: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Give the commands that a run's jobs are just now: not what leads them."""
    found = []
    try:
        for process in psutil.Process(run.pid).children(recursive=True):
            line = _command(process)
            if any(word.endswith("/parkf") for word in line[:2]) and "kernel" not in line:
                found.append(process)
    except psutil.NoSuchProcess:
        return []
    return found


def command(job: psutil.Process) -> str:
    """Name what a job does: `fit`, `train`."""
    line = _command(job)
    at = next((n for n, word in enumerate(line[:2]) if word.endswith("/parkf")), None)
    return "a job" if at is None or at + 1 >= len(line) else line[at + 1]


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
