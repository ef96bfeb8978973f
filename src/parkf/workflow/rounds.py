"""Rounds of a calibration: members of a family, each trained with what the one before it found.

The DAG of a family has the rounds that there are reasons for: the first, and one behind each calibration that
has changed what it found by more than the errors. ``parkf run --family`` repeats the DAG as long as it grows,
up to the number of rounds in the family's configuration. Only the last round is validated and reported.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parkf.data import CALIBRATION_FILES
from parkf.io.files import read_json


def rounds(family: str, most: int, folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return the members of a calibration by name, each with what it lays over the base.

    `folder` has the results. A damaged calibration.json raises a ParkfError.
    """
    members: dict[str, Mapping[str, Any]] = {}
    own: Mapping[str, Any] = {}
    for number in range(1, most + 1):
        members[f"round{number}"] = own
        figures, alignment, geometry, field = _files(family, number)
        if not (folder / figures).is_file() or read_json(folder / figures)["converged"]:
            break
        own = {
            "detector": {"geometry": str(geometry), "alignment": str(alignment)},
            "field": {"source": str(field)},
            "calibration": {"before": str(figures)},
        }
    return members


def have_ended(family: str, number: int, most: int, folder: Path) -> bool:
    """Whether round `number` is the last one: it has run, and has changed nothing or is the last allowed."""
    figures = folder / _files(family, number)[0]
    return figures.is_file() and (number == most or bool(read_json(figures)["converged"]))


def _files(family: str, number: int) -> tuple[Path, ...]:
    return tuple(
        Path("results", f"{family}.round{number}", "calibration", name) for name in CALIBRATION_FILES
    )
