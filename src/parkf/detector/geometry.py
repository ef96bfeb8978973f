"""The detector that particles and hits see: a description, with every plane where the alignment puts it.

Planes carry fixed numbers: 0-51 VELO modules in ascending z, 52-55 UT layers, 56 and 57 the planes before and
behind the magnet, 58-69 SciFi layers.
"""

import hashlib
import itertools
import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.detector.alignment import Alignment, Displacement
from parkf.detector.description import (
    SCIFI_LAYERS,
    UT_LAYERS,
    VELO_MODULES,
    Beam,
    Description,
    SciFi,
    Ut,
    Velo,
)
from parkf.detector.frame import Frame
from parkf.documents.models import load_document
from parkf.errors import ParkfError

VELO_PLANES = range(0, VELO_MODULES)
UT_PLANES = range(VELO_PLANES.stop, VELO_PLANES.stop + UT_LAYERS)
Z_IN = UT_PLANES.stop
Z_OUT = Z_IN + 1
SCIFI_PLANES = range(Z_OUT + 1, Z_OUT + 1 + SCIFI_LAYERS)
PLANES = SCIFI_PLANES.stop


@dataclass(frozen=True)
class Geometry:
    """A detector in place.

    Attributes
    ----------
    description : Description
        Sizes, resolutions, efficiencies and materials.
    frames : tuple of Frame, 70
        Where each plane is.
    """

    description: Description
    frames: tuple[Frame, ...]

    @property
    def tag(self) -> str:
        """Name of the geometry."""
        return self.description.tag

    @property
    def beam(self) -> Beam:
        """The luminous region."""
        return self.description.beam

    @property
    def velo(self) -> Velo:
        """VELO: modules, sensors, resolution, efficiency."""
        return self.description.velo

    @property
    def ut(self) -> Ut:
        """UT: layers, zones of pitch, efficiency."""
        return self.description.ut

    @property
    def scifi(self) -> SciFi:
        """SciFi: layers, errors by cluster size, efficiency."""
        return self.description.scifi

    @property
    def z_in(self) -> float:
        """Plane before the magnet, mm."""
        return self.description.magnet.z_in

    @property
    def z_out(self) -> float:
        """Plane behind the magnet, mm."""
        return self.description.magnet.z_out

    def planes(self) -> NDArray[np.float64]:
        """All planes as (70, 3) rows (z0, dzdx, dzdy): z = z0 + dzdx x + dzdy y, mm."""
        return self._planes.copy()

    @cached_property
    def _planes(self) -> NDArray[np.float64]:
        return np.array([frame.plane for frame in self.frames])

    def strip_slope(self, plane: int) -> float:
        """Slope du/dv of a UT or SciFi layer's strips in the layer's own coordinates."""
        if plane in UT_PLANES:
            return self.ut.layers[plane - UT_PLANES.start].dxdy
        return self.scifi.layers[plane - SCIFI_PLANES.start].dxdy

    def align(self, alignment: Alignment) -> "Geometry":
        """Move every named element away from where it is now."""
        frames = list(self.frames)

        def move(plane: int, displacement: Displacement | None, centre: NDArray[np.float64]) -> None:
            if displacement is not None:
                frames[plane] = frames[plane].displaced(displacement.rotation, displacement.shift, centre)

        modules = self.velo.modules
        velo_centre = np.array([0.0, 0.0, np.mean([z for z, _ in modules])])
        for plane, (_, side) in zip(VELO_PLANES, modules, strict=True):
            move(plane, alignment.velo_modules.get(plane), frames[plane].origin)
            move(plane, alignment.velo_halves.get(side), velo_centre)
        for planes, displacements in (
            (UT_PLANES, alignment.ut_layers),
            (SCIFI_PLANES, alignment.scifi_layers),
        ):
            for layer, plane in enumerate(planes):
                move(plane, displacements.get(layer), frames[plane].origin)
        moved = replace(self, frames=tuple(frames))
        moved.require_order()
        return moved

    def require_order(self) -> None:
        """Refuse planes that changed places: tracks meet them in the order of their numbers.

        Modules of the two halves of the VELO may: an open half has been moved along z, too.

        Raises
        ------
        ParkfError
            With the two planes and their z.
        """
        sides = [
            [plane for plane, (_, on) in enumerate(self.velo.modules) if on == side]
            for side in ("left", "right")
        ]
        for name, planes in (
            ("VELO", sides[0]),
            ("VELO", sides[1]),
            ("UT", UT_PLANES),
            ("SciFi", SCIFI_PLANES),
        ):
            for before, after in itertools.pairwise(planes):
                z0, z1 = (float(self.frames[plane].origin[2]) for plane in (before, after))
                if z0 >= z1:
                    first = 0 if name == "VELO" else planes[0]
                    raise ParkfError(
                        f"alignment: {name} {before - first} and {after - first} change places: they end up "
                        f"at z = {z0:g} and {z1:g} mm, expected the geometry's order"
                    )

    def fingerprint(self) -> str:
        """SHA-256 of all that the description says and of where the planes are, 64 hexadecimal digits."""
        content = json.dumps(self.description.model_dump(mode="json"), sort_keys=True).encode()
        frames = np.array([[f.origin, f.axis_u, f.axis_v] for f in self.frames]).astype("<f8")
        return hashlib.sha256(content + frames.tobytes()).hexdigest()


def load_geometry(path: Path) -> Geometry:
    """Read a geometry file; every plane stands at its nominal place.

    Raises
    ------
    ParkfError
        When the file is missing, is not YAML, has unknown, missing or impossible values, or layers out of
        order.
    """
    description = load_document(path, Description)
    frames = [
        *(Frame.upright(z) for z, _ in description.velo.modules),
        *(Frame.upright(layer.z) for layer in description.ut.layers),
        Frame.upright(description.magnet.z_in),
        Frame.upright(description.magnet.z_out),
        *(Frame.upright(layer.z, description.scifi.dzdy) for layer in description.scifi.layers),
    ]
    return Geometry(description, tuple(frames))
