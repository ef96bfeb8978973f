"""Real positions of modules, layers and pieces, relative to the geometry file, and their rigid motions."""

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from parkf.io.documents.document import read_document
from parkf.io.documents.messages import said
from parkf.io.documents.models import Strict, load_document
from parkf.io.documents.position import Place
from parkf.io.errors import ParkfError
from parkf.io.planes import SCIFI_LAYERS, SCIFI_MATS, UT_LAYERS, UT_SECTORS, VELO_MODULES, VELO_SENSORS

Floats = NDArray[np.float64]

SECTIONS = (
    *("velo_halves", "velo_modules", "ut_layers", "scifi_layers"),
    *("velo_sensors", "ut_sectors", "scifi_mats"),
)
"""Keys of an alignment file that hold displacements."""
# The VELO closes within 0.1 mm, and layers are surveyed to some 0.1 mm. More (mm, rad) must be confirmed.
_USUAL_MM, _USUAL_RAD = 1.0, 1e-3

# An open VELO half is 29 mm from its closed position; a rotation of 0.1 moves the edge of a layer by 30 cm.
Shift = Annotated[
    float, Field(ge=-30, le=30, description="mm; more is no misalignment, but another geometry")
]
Angle = Annotated[
    float, Field(ge=-0.1, le=0.1, description="rad; more is no misalignment, but another geometry")
]


class Displacement(Strict):
    """Shifts in mm and rotations in rad about the element's centre: rx first, then ry, then rz."""

    x: Shift = 0.0
    y: Shift = 0.0
    z: Shift = 0.0
    rx: Angle = 0.0
    ry: Angle = 0.0
    rz: Angle = 0.0

    @property
    def shift(self) -> Floats:
        """(3,) mm."""
        return np.array([self.x, self.y, self.z])

    @property
    def rotation(self) -> Floats:
        """(3, 3) right-handed rotation matrix."""
        (cx, cy, cz), (sx, sy, sz) = np.cos([self.rx, self.ry, self.rz]), np.sin([self.rx, self.ry, self.rz])
        about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
        about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
        about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
        return np.asarray(about_z @ about_y @ about_x)

    def rounded(self, shift: int, angle: int) -> dict[str, float]:
        """Numbers that are not 0, rounded to these digits of mm and of rad."""
        numbers = self.model_dump().items()
        digits = {name: round(value, angle if name.startswith("r") else shift) for name, value in numbers}
        return {name: value for name, value in digits.items() if value}

    @classmethod
    def of(cls, rotation: Floats, shift: Floats) -> Self:
        """Displacement with this (3, 3) rotation matrix and (3,) shift in mm."""
        about_y = -np.arcsin(np.clip(rotation[2, 0], -1.0, 1.0))
        about_x = np.arctan2(rotation[2, 1], rotation[2, 2])
        about_z = np.arctan2(rotation[1, 0], rotation[0, 0])
        x, y, z = map(float, shift)
        return cls(x=x, y=y, z=z, rx=float(about_x), ry=float(about_y), rz=float(about_z))


class Alignment(Strict):
    """Content of an alignment file: displacements of larger parts, and of the pieces on them.

    A piece is displaced about its own centre, then its module or layer about theirs, then the VELO's half.
    """

    tag: str = Field(min_length=1)
    velo_halves: dict[Literal["left", "right"], Displacement]
    # JSON has numbers of elements as text.
    velo_modules: dict[Annotated[int, Field(ge=0, lt=VELO_MODULES, strict=False)], Displacement]
    ut_layers: dict[Annotated[int, Field(ge=0, lt=UT_LAYERS, strict=False)], Displacement]
    scifi_layers: dict[Annotated[int, Field(ge=0, lt=SCIFI_LAYERS, strict=False)], Displacement]
    velo_sensors: dict[Annotated[int, Field(ge=0, lt=VELO_SENSORS, strict=False)], Displacement] = Field({})
    ut_sectors: dict[Annotated[int, Field(ge=0, lt=UT_SECTORS, strict=False)], Displacement] = Field({})
    scifi_mats: dict[Annotated[int, Field(ge=0, lt=SCIFI_MATS, strict=False)], Displacement] = Field({})
    beyond_1_mm: bool = Field(
        False, description="whether shifts above 1 mm, or angles above 1 mrad, are meant"
    )

    def unusual(self) -> tuple[Place, float] | None:
        """Return place and size (mm or rad) of the first displacement above 1 mm or 1 mrad; None without."""
        for section in SECTIONS:
            for key, displacement in getattr(self, section).items():
                for name, value in displacement.model_dump().items():
                    if abs(value) > (_USUAL_RAD if name.startswith("r") else _USUAL_MM):
                        return (section, key, name), value
        return None


@dataclass(frozen=True)
class Motion:
    """Moves a point to ``rotation @ point + offset``."""

    rotation: Floats  # (3, 3)
    offset: Floats  # (3,) mm

    @classmethod
    def of(cls, displacement: Displacement, centre: Floats) -> Self:
        """Motion of an element with this centre (3,), mm."""
        rotation = displacement.rotation
        return cls(rotation, centre + displacement.shift - rotation @ centre)

    @classmethod
    def between(cls, before: Floats, after: Floats) -> Self:
        """Motion that brings points (n, 3) closest to others (n, 3), by least squares (W. Kabsch, 1976)."""
        centre, moved = before.mean(axis=0), after.mean(axis=0)
        left, _, right = np.linalg.svd((after - moved).T @ (before - centre))
        mirror = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
        rotation = left @ mirror @ right
        return cls(rotation, moved - rotation @ centre)

    def __call__(self, points: Floats) -> Floats:
        """Move points (..., 3), mm."""
        return points @ self.rotation.T + self.offset

    def after(self, first: "Motion") -> "Motion":
        """Motion of `first`, then of this one."""
        return Motion(self.rotation @ first.rotation, self(first.offset))

    @property
    def inverse(self) -> "Motion":
        """The motion back."""
        return Motion(self.rotation.T, -self.rotation.T @ self.offset)

    def about(self, centre: Floats) -> Displacement:
        """Return this motion as the displacement of an element with this centre (3,), mm."""
        return Displacement.of(self.rotation, self(centre) - centre)


def chained(motions: list[Motion]) -> Motion:
    """Combine motions into one. The last of the list comes first: children move before their parents."""
    return reduce(Motion.after, motions, Motion(np.eye(3), np.zeros(3)))


def load_alignment(path: Path) -> Alignment:
    """Read an alignment file.

    A ParkfError reports a file that is missing or not YAML, an unknown element or key, and a displacement
    above 1 mm or 1 mrad, unless the file has ``beyond_1_mm: true``.
    """
    alignment = load_document(path, Alignment)
    if not alignment.beyond_1_mm and (found := alignment.unusual()):
        place, value = found
        shift = not str(place[-1]).startswith("r")
        unit, small, most = ("mm", "µm", _USUAL_MM) if shift else ("rad", "mrad", _USUAL_RAD)
        raise ParkfError(
            said(
                read_document(path).where(place),
                place,
                f"got {value:g} {unit}, expected at most {most:g} {unit}; if {value:g} {small} is meant,"
                f" write {value / 1000:g}; if {value:g} {unit} is meant, add `beyond_1_mm: true` to the file",
            )
        )
    return alignment
