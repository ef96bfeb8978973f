"""Where modules and layers really are, relative to the geometry file."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from parkf.detector.description import SCIFI_LAYERS, UT_LAYERS, VELO_MODULES, Finite, Strict
from parkf.documents.models import load_document

# An open VELO half is 29 mm from where it is closed; a rotation of 0.1 moves the edge of a layer by 30 cm.
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


class Alignment(Strict):
    """A whole alignment file: displacements by VELO half, VELO module, UT layer and SciFi layer."""

    tag: str = Field(min_length=1)
    velo_halves: dict[Literal["left", "right"], Displacement]
    velo_modules: dict[Annotated[int, Field(ge=0, lt=VELO_MODULES)], Displacement]
    ut_layers: dict[Annotated[int, Field(ge=0, lt=UT_LAYERS)], Displacement]
    scifi_layers: dict[Annotated[int, Field(ge=0, lt=SCIFI_LAYERS)], Displacement]


def load_alignment(path: Path) -> Alignment:
    """Read an alignment file.

    Raises
    ------
    ParkfError
        When the file is missing, is not YAML, or names an element or a displacement that does not exist.
    """
    return load_document(path, Alignment)
