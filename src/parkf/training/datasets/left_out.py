"""Rows of a file that are left out as wrong: counted by reason, the first ones named, all written."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.io.files import replacing
from parkf.io.findings import Finding, Verdict
from parkf.io.tables import STEP_DATA

SHARE = 1e-3
"""Largest share of rows that are left out; with more of them the file is refused."""

_NAMED, _WRITTEN = 3, 10_000  # rows of a reason in a message; rows in the file


@dataclass
class LeftOut:
    """Rows that are left out; `where` names what they are read from."""

    where: str
    step: str = ""  # of a step dataset
    share: float = SHARE
    what: str = "rows"
    rows: int = 0  # number of all rows
    count: int = 0
    drops_repeats: bool = False  # rows that were there before count as `repeats` instead, and are no fault
    repeats: int = 0
    _reasons: dict[str, int] = field(default_factory=dict)
    _said: dict[str, list[str]] = field(default_factory=dict)
    _lines: list[list[Any]] = field(default_factory=list)

    def add(
        self,
        bad: NDArray[np.bool_],
        reason: str,
        said: Callable[[int], str],
        columns: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Leave out some rows (n,), whose `columns` can be written; `said` is the message of one of them."""
        found = np.flatnonzero(bad)
        self.count += len(found)
        self._reasons[reason] = self._reasons.get(reason, 0) + len(found)
        told = self._said.setdefault(reason, [])
        for row in found[: _WRITTEN - len(self._lines)]:
            message = said(int(row))
            if len(told) < _NAMED and message not in told:
                told.append(message)
            if columns is not None:
                values = [columns[name][row] if name in columns else "" for name, _ in STEP_DATA.fields]
                self._lines.append([message, *values])

    @property
    def too_many(self) -> bool:
        """Whether the file is refused."""
        return self.count > self.share * self.rows

    def findings(self) -> list[Finding]:
        """Return one finding for each reason, the most frequent first."""
        verdict: Verdict = "wrong" if self.too_many else "doubtful"
        most = sorted(self._reasons.items(), key=lambda item: -item[1])
        return [
            Finding(
                verdict, f"{count} of {self.rows} {self.what} left out: {reason}", _short(self._said[reason])
            )
            for reason, count in most
            if count
        ]

    def summary(self) -> str:
        """Return what was found in the file, a line for each reason."""
        good = f"{self.where}: {self.rows - self.count:,} rows of step {self.step}"
        return "\n".join([f"{good}, all good" if not self.count else good, *map(str, self.findings())])

    def refuse(self) -> None:
        """Raise a ParkfError if they are too many, with the first row of each reason."""
        if not self.too_many:
            return
        first = [told[0] for reason, told in self._said.items() if self._reasons[reason]]
        share = f"{self.count} of {self.rows} rows are wrong, allowed {100 * self.share:g} %"
        raise ParkfError("; ".join([*first, share]))

    def write(self, path: Path) -> None:
        """Write the rows as CSV, with the reason of each; nothing if there are none."""
        if not self._lines:
            return
        with replacing(path, ".csv") as temporary, temporary.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["why", *(name for name, _ in STEP_DATA.fields)])
            writer.writerows(self._lines)


def _short(messages: list[str]) -> str:
    """Return the first message in full, and of the others what was found where."""
    return "; ".join([messages[0], *(one.split(", expected ")[0] for one in messages[1:])])
