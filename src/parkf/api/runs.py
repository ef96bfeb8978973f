"""Finished runs: their figures as a table, and their set."""

from pathlib import Path
from typing import Any

import pandas as pd

from parkf.api.parameters import Parameters, gates_table, load
from parkf.io.errors import ParkfError
from parkf.io.project import found
from parkf.params.registry import readable_registry
from parkf.proof.comparing.figures import compare_figures
from parkf.proof.comparing.subject import load_subject
from parkf.proof.gates import GATES_FILE, load_thresholds


def run(which: str | Path = "default") -> "Run":
    """Open a finished run by its name in ``results/``, or by its folder.

    Raises a ParkfError when there is no such run, or it has not ended.
    """
    for folder in (Path(which), Path("results") / which):
        if (folder / "validation.json").is_file():
            return Run(folder)
    there = sorted(path.parent.name for path in Path("results").glob("*/validation.json"))
    raise ParkfError(f"{which}: no finished run; there are {', '.join(there) or 'none'} in results/")


class Run:
    """A finished run in its folder, ``results/<run>``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._subject = load_subject(str(folder), load_thresholds(found(GATES_FILE)), readable_registry())

    def __repr__(self) -> str:
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
