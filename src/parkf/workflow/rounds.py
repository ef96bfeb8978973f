"""Rounds of a calibration: members of a family, each trained with what the one before it found.

The DAG of a family has the rounds that there are reasons for: the first, and one behind each calibration that
has changed something by more than its error. ``parkf run --family`` repeats the DAG as long as it grows, up
to the number of rounds in the family's configuration.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parkf.io.files import read_json
from parkf.proof.calibration import FILES


def rounds(family: str, most: int, folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return the members of a calibration by name, each with what it lays over the base.

    `folder` has the results. A damaged calibration.json raises a ParkfError.
    """
    members: dict[str, Mapping[str, Any]] = {"round1": {}}
    while len(members) < most:
        place = Path("results", f"{family}.round{len(members)}", "calibration")
        figures, alignment, geometry, field = (place / name for name in FILES)
        if not (folder / figures).is_file() or read_json(folder / figures)["converged"]:
            break
        members[f"round{len(members) + 1}"] = {
            "detector": {"geometry": str(geometry), "alignment": str(alignment)},
            "field": {"source": str(field)},
            "calibration": {"before": str(figures)},
        }
    return members
