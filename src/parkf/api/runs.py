"""Runs: train, validate and publish sets, and look at figures, gates, tables and the set of a run."""

import signal
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from parkf.api.parameters import Parameters, gates_table, load
from parkf.io.errors import ParkfError
from parkf.io.project import found
from parkf.io.terminal import say
from parkf.params.binary_form import MANIFEST_FILE
from parkf.params.registry import readable_registry
from parkf.proof.comparing.figures import compare_figures
from parkf.proof.comparing.subject import Subject, load_subject
from parkf.proof.gates import GATES_FILE, load_thresholds


def run(which: str | Path = "default") -> "Run":
    """Open a finished run by its name in ``results/``, or by its folder.

    Raises a ParkfError when there is no such run, or it has not ended.
    """
    found = Run(which)
    if found.ended:
        return found
    there = sorted(path.parent.name for path in Path("results").glob("*/validation.json"))
    raise ParkfError(f"{which}: no finished run; there are {', '.join(there) or 'none'} in results/")


class Run:
    """A run in its folder, ``results/<run>``: lead it as ``parkf run`` does, and look at what it has made.

    `which` is the name of a configuration, ``workflow/config/<name>.yaml``, or the folder of a run.
    """

    def __init__(self, which: str | Path = "default") -> None:
        self.folder = Path("results") / which
        if (Path(which) / "validation.json").is_file():
            self.folder = Path(which)

    @property
    def ended(self) -> bool:
        """Whether the run has been validated."""
        return (self.folder / "validation.json").is_file()

    def train(self, *, cores: int | None = None) -> Self:
        """Train up to the parameter set, and print how far the run is; `cores` are all by default.

        What is right already is not made again. Raises a ParkfError when the run fails.
        """
        return self._lead([str(self.folder / "set" / MANIFEST_FILE)], cores)

    def validate(self, *, cores: int | None = None) -> Self:
        """Train, and measure the set; arguments and errors are those of :meth:`train`."""
        return self._lead(["validate"], cores)

    def publish(self, *, cores: int | None = None) -> Self:
        """Train, validate, and publish the set under the next free name, if it meets its gates.

        Arguments and errors are those of :meth:`train`.
        """
        return self._lead(["publish"], cores)

    def _lead(self, targets: list[str], cores: int | None) -> Self:
        words = [sys.executable, "-m", "parkf.cli", "run", self.folder.name, *targets]
        if cores is not None:
            words += ["--cores", str(cores)]
        lines: list[str] = []
        # In a process of its own, because signals and locks are those of a whole process.
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            try:
                for line in process.stdout or ():
                    lines.append(line.rstrip())
                    say(lines[-1], flush=True)
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
                raise
        if process.returncode:
            raise ParkfError("\n".join(lines[-20:]) or f"{self.folder}: exit code {process.returncode}")
        self.__dict__.pop("_subject", None)
        return self

    @cached_property
    def _subject(self) -> Subject:
        return load_subject(str(self.folder), load_thresholds(found(GATES_FILE)), readable_registry())

    def __repr__(self) -> str:
        if not self.ended:
            return f"<Run {self.folder.name}: not validated yet>"
        met = sum(gate.met for gate in self._subject.gates)
        return f"<Run {self.folder.name}: {met} of {len(self._subject.gates)} gates met>"

    @property
    def parameters(self) -> Parameters:
        """The set that the run trained."""
        return load(self.folder)

    @property
    def figures(self) -> pd.DataFrame:
        """The run's figures, one a row: group, what, value, error. Units are in the text of each figure."""
        figures = [(row, row.measured[0]) for row in compare_figures([self._subject])]
        rows = [(row.group, row.what, one.value, one.error) for row, one in figures if one is not None]
        return pd.DataFrame(rows, columns=["group", "what", "value", "error"])

    @property
    def gates(self) -> pd.DataFrame:
        """Today's gates, applied to the run: what, value, measured, bar, met, reason."""
        return gates_table(self._subject.gates)

    def table(self, name: str) -> Any:
        """Read one of the run's Parquet tables into pandas, such as ``fitted/parkf/validation_up``.

        Raises a ParkfError when the run has no such table.
        """
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            raise ParkfError(f"{path}: no such table; docs/reference/files.md lists them")
        return pd.read_parquet(path)
