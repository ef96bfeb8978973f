"""Where modules and layers really are, relative to the geometry file."""

from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from parkf.detector.description import (
    SCIFI_LAYERS,
    SCIFI_MATS,
    UT_LAYERS,
    UT_SECTORS,
    VELO_MODULES,
    VELO_SENSORS,
    Finite,
    Strict,
)
from parkf.io.documents.models import load_document

# Limits: an open VELO half is 29 mm from its closed position; a rotation of 0.1 moves the edge of a layer by
# 30 cm.
Shift = Annotated[
    Finite, Field(ge=-30, le=30, description="mm; more is no misalignment, but another geometry")
]
Angle = Annotated[
    Finite, Field(ge=-0.1, le=0.1, description="rad; more is no misalignment, but another geometry")
]


class Displacement(Strict):
    """Shifts in mm and rotations in rad, about the element's centre; rx is done first, then ry, then rz."""

    x: Shift = 0.0
    y: Shift = 0.0
    z: Shift = 0.0
    rx: Angle = 0.0
    ry: Angle = 0.0
    rz: Angle = 0.0

    @property
    def shift(self) -> NDArray[np.float64]:
        """(3,) mm."""
        return np.array([self.x, self.y, self.z])

    @property
    def rotation(self) -> NDArray[np.float64]:
        """(3, 3) right-handed rotation matrix."""
        (cx, cy, cz), (sx, sy, sz) = np.cos([self.rx, self.ry, self.rz]), np.sin([self.rx, self.ry, self.rz])
        about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
        about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
        about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
        return np.asarray(about_z @ about_y @ about_x)

    @classmethod
    def of(cls, rotation: NDArray[np.float64], shift: NDArray[np.float64]) -> Self:
        """Displacement with this (3, 3) rotation matrix and (3,) shift in mm."""
        about_y = -np.arcsin(np.clip(rotation[2, 0], -1.0, 1.0))
        about_x = np.arctan2(rotation[2, 1], rotation[2, 2])
        about_z = np.arctan2(rotation[1, 0], rotation[0, 0])
        x, y, z = map(float, shift)
        return cls(x=x, y=y, z=z, rx=float(about_x), ry=float(about_y), rz=float(about_z))


class Alignment(Strict):
    """A whole alignment file: displacements of larger parts, and of the pieces on them.

    A piece is displaced about its own centre, then its module or layer about theirs, then the VELO's half.
    """

    tag: str = Field(min_length=1)
    velo_halves: dict[Literal["left", "right"], Displacement]
    velo_modules: dict[Annotated[int, Field(ge=0, lt=VELO_MODULES)], Displacement]
    ut_layers: dict[Annotated[int, Field(ge=0, lt=UT_LAYERS)], Displacement]
    scifi_layers: dict[Annotated[int, Field(ge=0, lt=SCIFI_LAYERS)], Displacement]
    velo_sensors: dict[Annotated[int, Field(ge=0, lt=VELO_SENSORS)], Displacement] = Field({})
    ut_sectors: dict[Annotated[int, Field(ge=0, lt=UT_SECTORS)], Displacement] = Field({})
    scifi_mats: dict[Annotated[int, Field(ge=0, lt=SCIFI_MATS)], Displacement] = Field({})


def load_alignment(path: Path) -> Alignment:
    """Read an alignment file.

    Raises
    ------
    ParkfError
        When the file is missing, is not YAML, or names an element or a displacement that does not exist.
    """
    return load_document(path, Alignment)
