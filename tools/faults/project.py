"""A run with every stage, as small as the stages allow, in a folder of its own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from parkf.io.files import sha256
from parkf.workflow.config_files import laid, read_layers

ROOT = Path(__file__).parents[2]
RUN = "faults"
# What depends on the machine, the time or the commit, and what shows it.
_OF_THE_MOMENT = (
    *("report", "logs", "inputs", ".aside", "run.json", "beside.json"),
    *("ledger.jsonl", ".leader"),
)
_MARK = "PARKF_FAULTS"
_PATIENCE_S = 900.0


def configuration(run: str = RUN, seed: int = 2026, rays: int = 10_000) -> dict[str, Any]:
    """Return the smoke configuration with fewer events, one polarity, and a coarse field."""
    config = laid(read_layers(ROOT / "workflow/config/smoke.yaml"))
    config |= {"run": run, "seed": seed, "polarities": ["up"]}
    config["events"] |= {"training": 60, "validation": 20}
    config["field"]["spacing"] = 200
    config["training"] |= {"rays": rays, "closure": {"tracks": 8000, "rays": 10_000, "passes": 1}}
    return config


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, and all that it printed."""

    code: int
    said: str

    def line(self, begin: str) -> str:
        """Return the first line, or error, that begins with this text, or an empty one."""
        lines = (line.removeprefix("error: ") for line in self.said.splitlines())
        return next((line for line in lines if line.startswith(begin)), "")


class Project:
    """A folder in which runs start, by `parkf run` or by Snakemake itself; its results are removed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results" / RUN
        for name in ("results", ".snakemake", "tmp"):
            shutil.rmtree(folder / name, ignore_errors=True)
        (folder / "workflow/config").mkdir(parents=True, exist_ok=True)
        (folder / "tmp").mkdir()
        if not (folder / "data").exists():
            (folder / "data").symlink_to(ROOT / "data")
        self.configure(configuration())

    def configure(self, config: dict[str, Any]) -> None:
        """Write the configuration of a run."""
        path = self.folder / f"workflow/config/{config['run']}.yaml"
        path.write_text(yaml.safe_dump(config), "utf-8")

    def start(self, *words: str, plain: bool = False) -> subprocess.Popen[bytes]:
        """Start a command of parkf in a group of its own; by default, the run."""
        environment = {**os.environ, "TMPDIR": str(self.folder / "tmp"), _MARK: str(self.folder)}
        programs = Path(sys.executable).parent
        command = [str(programs / "parkf"), *(words or ("run", RUN, "--cores", "2"))]
        if plain:
            profile, rules = ROOT / "workflow/profiles/local", ROOT / "Snakefile"
            command = [str(programs / "snakemake"), "--snakefile", str(rules), "--workflow-profile"]
            command += [str(profile), "--cores", "2", "--configfile", f"workflow/config/{RUN}.yaml"]
        with (self.folder / "said.txt").open("w") as said:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=said, stderr=said, start_new_session=True
            )

    def end(self, started: subprocess.Popen[bytes]) -> Ended:
        """Wait for the end of a command; one that takes too long is killed."""
        try:
            code = started.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            code = started.wait()
        return Ended(code, (self.folder / "said.txt").read_text(errors="replace"))

    def run(self, *words: str, plain: bool = False) -> Ended:
        """Start a command of parkf, by default the run, and wait for its end."""
        return self.end(self.start(*words, plain=plain))

    def processes(self) -> list[psutil.Process]:
        """Return the live processes that a command in this folder has started."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(_MARK) == str(self.folder) and process.status() != "zombie":
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def left(self, patience: float) -> list[str]:
        """Wait until no process of this folder is left; return what still works after `patience` s."""
        until = time.monotonic() + patience
        while (found := self.processes()) and time.monotonic() < until:
            time.sleep(0.1)
        return [" ".join(process.cmdline()) for process in found]

    def files(self) -> dict[str, str]:
        """Return the SHA-256 of all products of the run whose bytes depend on nothing else."""
        return {
            str(path.relative_to(self.results)): sha256(path)
            for path in sorted(self.results.rglob("*"))
            if path.is_file()
            and path.relative_to(self.results).parts[0] not in _OF_THE_MOMENT
            and not path.name.startswith(".snakemake")
        }

    def leftovers(self) -> list[str]:
        """Return unfinished files, scratch, sockets, Snakemake's locks, and wrong files of the store."""
        unfinished = [path for root in ("results", "data") for path in (self.folder / root).rglob(".*.tmp")]
        locks = [*(self.folder / ".snakemake/locks").iterdir(), *(self.folder / "tmp").iterdir()]
        wrong = [path for path in (self.folder / "results/.store").iterdir() if sha256(path) != path.name]
        return [str(path.relative_to(self.folder)) for path in (*unfinished, *locks, *wrong)]
