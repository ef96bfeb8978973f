"""The table of hypotheses: everything that the fit of residuals and holes looks for, and what it is called.

A nuisance is a shift or a turn of a group of parts, its hit efficiency, or a factor on hit errors or
on noise. It is 0 for the detector that the set was made for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parkf.data.changes import SIDES, Nuisance
from parkf.data.elements import FREEDOMS
from parkf.data.equations import Floats
from parkf.data.parts import Parts

# Sizes up to which no other set is needed: shifts along x, y, z in mm, turns about x, y, z in rad.
_SMALL = {
    "VELO": (0.003, 0.003, 0.1, 2e-3, 2e-3, 2e-4),
    "UT": (0.005, 0.05, 0.2, 1e-3, 1e-3, 5e-5),
    "SciFi": (0.005, 0.05, 0.2, 2e-4, 2e-4, 1e-5),
}
_SMALL_LOSS = 0.01
NOT_LOOKED_AT = "hit efficiency of the VELO, single modules of the SciFi, errors and noise by polarity"


@dataclass(frozen=True)
class Found:
    """A nuisance that the data show, and others that would explain them as well."""

    change: Nuisance
    size: float  # mm, rad, or factor minus one
    error: float
    others: Sequence[str] = ()

    def __str__(self) -> str:
        kind, subject = self.change.kind, self.change.name[0].upper() + self.change.name[1:]
        alone = "".join(f", in {SIDES[side]} alone" for side in self.change.sides)
        scaled, error = 1e3 * self.size, 1e3 * self.error
        if self.change.unit == "mm":
            text = f"{subject} has moved by {scaled:+.1f} ± {error:.1f} µm in {kind}"
        elif self.change.unit == "rad":
            text = f"{subject} has turned by {scaled:+.3f} ± {error:.3f} mrad about {kind[1]}"
        else:
            what = self.change.what[0].upper() + self.change.what[1:]
            text, alone = f"{what}: {1 + self.size:.3f} ± {self.error:.3f} times what the set assumes", ""
        told = f"; these data do not tell it from {' or '.join(self.others)}" if self.others else ""
        return f"{text}{alone}{told}"

    def as_json(self) -> dict[str, Any]:
        """Numbers, and the nuisance's name and kind."""
        return {
            **{"what": self.change.what, "kind": self.change.kind, "unit": self.change.unit},
            **{"size": self.size, "error": self.error, "significance": abs(self.size) / self.error},
            "others": list(self.others),
        }


def motions(parts: Parts) -> tuple[list[Nuisance], Floats]:
    """List shifts, turns and efficiencies; also their shares in those of single parts, (j, 6·m + c).

    m are the parts, c those of UT and SciFi.
    """
    found, rows = [], []
    of_velo = len(parts.stations.z)
    for group in parts.groups():
        changes = [(freedom, parts.motion(group, n)) for n, freedom in enumerate(FREEDOMS)]
        lost = np.zeros(len(parts.names))
        lost[group.members] = 1.0
        for (freedom, moved), small in zip(changes, _SMALL[group.detector], strict=True):
            found.append(Nuisance(freedom, group.name, small))
            rows.append(np.append(moved, 0.0 * lost[of_velo:]))
        if group.detector != "VELO":
            found.append(Nuisance("efficiency", group.name, _SMALL_LOSS))
            rows.append(np.append(0.0 * changes[0][1], lost[of_velo:]))
    return found, np.array(rows)
