"""The detector for particles and hits: its description, with every plane at its aligned position.

Planes carry fixed numbers: 0-51 VELO modules in ascending z, 52-55 UT layers, 56 and 57 the planes before and
behind the magnet, 58-69 SciFi layers.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.detector.alignment import Alignment, Displacement, load_alignment
from parkf.detector.description import Beam, Description, Magnet, SciFi, StripLayer, Ut, Velo
from parkf.detector.frame import Frame, Pieces
from parkf.io.documents.models import load_document
from parkf.io.errors import ParkfError
from parkf.io.planes import SCIFI_LAYERS, SENSORS_PER_MODULE, UT_LAYERS, VELO_MODULES

VELO_PLANES = range(0, VELO_MODULES)
UT_PLANES = range(VELO_PLANES.stop, VELO_PLANES.stop + UT_LAYERS)
Z_IN = UT_PLANES.stop
Z_OUT = Z_IN + 1
SCIFI_PLANES = range(Z_OUT + 1, Z_OUT + 1 + SCIFI_LAYERS)
PLANES = SCIFI_PLANES.stop


@dataclass(frozen=True)
class Geometry:
    """A detector in place."""

    description: Description  # sizes, resolutions, efficiencies and materials
    frames: tuple[Frame, ...]  # position of each of the 70 planes
    # Pieces by their plane's number, if they are known and may lie off the plane.
    pieces: Mapping[int, Pieces] = field(default_factory=dict)

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
    def magnet(self) -> Magnet:
        """Z of the planes before and behind the magnet, mm."""
        return self.description.magnet

    def planes(self) -> NDArray[np.float64]:
        """All planes as (70, 3) rows (z0, dzdx, dzdy): z = z0 + dzdx x + dzdy y, mm."""
        return self._planes.copy()

    @cached_property
    def _planes(self) -> NDArray[np.float64]:
        return np.array([frame.plane for frame in self.frames])

    def strip_layers(self) -> Iterator[tuple[int, Ut | SciFi, StripLayer]]:
        """Yield the planes of UT and SciFi, each with its detector and its layer."""
        for planes, part in ((UT_PLANES, self.ut), (SCIFI_PLANES, self.scifi)):
            for plane, layer in zip(planes, part.layers, strict=True):
                yield plane, part, layer

    def strip_slope(self, plane: int) -> float:
        """Slope du/dv of a UT or SciFi layer's strips in the layer's own coordinates."""
        return {index: layer.dxdy for index, _, layer in self.strip_layers()}[plane]

    def align(self, alignment: Alignment) -> "Geometry":
        """Displace every element of the alignment from its position.

        A ParkfError reports a piece that the geometry does not have, and planes whose order in z changes.
        """
        frames, pieces = list(self.frames), dict(self.pieces)
        for sensor in alignment.velo_sensors:
            plane = sensor // SENSORS_PER_MODULE
            pieces.setdefault(plane, _sensors(self.description, plane))
        parts = {"velo_sensors": VELO_PLANES, "ut_sectors": UT_PLANES, "scifi_mats": SCIFI_PLANES}
        for name, planes in parts.items():
            for number, own in getattr(alignment, name).items():
                on = [p for p in planes if p in pieces and number in pieces[p].numbers]
                if not on:
                    raise ParkfError(f"alignment: {name}: the geometry has no piece {number}")
                pieces[on[0]] = pieces[on[0]].displaced_one(number, own.rotation, own.shift)

        def move(plane: int, displacement: Displacement | None, centre: NDArray[np.float64]) -> None:
            if displacement is not None:
                motion = (displacement.rotation, displacement.shift, centre)
                frames[plane] = frames[plane].displaced(*motion)
                if plane in pieces:
                    pieces[plane] = pieces[plane].displaced(*motion)

        for plane, (_, side) in zip(VELO_PLANES, self.velo.modules, strict=True):
            move(plane, alignment.velo_modules.get(plane), frames[plane].origin)
            move(plane, alignment.velo_halves.get(side), self.velo_centre)
        for planes, of_layers in ((UT_PLANES, alignment.ut_layers), (SCIFI_PLANES, alignment.scifi_layers)):
            for layer, displacement in of_layers.items():
                move(planes[layer], displacement, frames[planes[layer]].origin)
        moved = replace(self, frames=tuple(frames), pieces=pieces)
        moved._require_order()
        return moved

    def _require_order(self) -> None:
        """Refuse planes whose order in z has changed: tracks meet them in the order of their numbers.

        Modules of different VELO halves may change their order, because an open half also moves along z.
        """
        modules = self.velo.modules
        halves = [[p for p in VELO_PLANES if modules[p][1] == side] for side in ("left", "right")]
        detectors = (*(("VELO", half) for half in halves), ("UT", UT_PLANES), ("SciFi", SCIFI_PLANES))
        for name, planes in detectors:
            for before, after in itertools.pairwise(planes):
                z0, z1 = (float(self.frames[plane].origin[2]) for plane in (before, after))
                if z0 >= z1:
                    first = 0 if name == "VELO" else planes[0]
                    raise ParkfError(
                        f"alignment: {name} {before - first} and {after - first} change places: they end up "
                        f"at z = {z0:g} and {z1:g} mm, expected the geometry's order"
                    )

    @property
    def velo_centre(self) -> NDArray[np.float64]:
        """Point (3,), mm, about which the halves of the VELO turn."""
        return np.array([0.0, 0.0, np.mean([z for z, _ in self.velo.modules])])


def load_geometry(path: Path, alignment: Path | None = None) -> Geometry:
    """Read a geometry file; every plane stands where the alignment file has it, or at its nominal position.

    A ParkfError when a file is missing or not YAML, or has unknown, missing or impossible values.
    """
    nominal = geometry_of(load_document(path, Description))
    return nominal if alignment is None else nominal.align(load_alignment(alignment))


def geometry_of(description: Description) -> Geometry:
    """Geometry with every plane and its pieces at their nominal positions."""
    frames = [
        *(Frame.upright(z) for z, _ in description.velo.modules),
        *(Frame.upright(layer.z) for layer in description.ut.layers),
        Frame.upright(description.magnet.z_in),
        Frame.upright(description.magnet.z_out),
        *(Frame.upright(layer.z, description.scifi.dzdy) for layer in description.scifi.layers),
    ]
    velo, ut, scifi = description.velo, description.ut, description.scifi
    flat = not any(sensor.z for side in (velo.left, velo.right) for sensor in side.sensors)
    pieces = {} if flat else {plane: _sensors(description, plane) for plane in VELO_PLANES}
    for planes, layers, lean in ((UT_PLANES, ut.layers, 0.0), (SCIFI_PLANES, scifi.layers, scifi.dzdy)):
        of = zip(planes, layers, strict=True)
        pieces |= {plane: _strips(layer, lean) for plane, layer in of if layer.pieces}
    return Geometry(description, tuple(frames), pieces)


def _sensors(description: Description, plane: int) -> Pieces:
    """Sensors of a VELO module at their nominal positions."""
    z, side = description.velo.modules[plane]
    sensors = (description.velo.left if side == "left" else description.velo.right).sensors
    angle = np.radians([sensor.angle for sensor in sensors])
    c, s, zero = np.cos(angle), np.sin(angle), np.zeros(len(sensors))
    size = description.velo.sensor
    return Pieces(
        numbers=SENSORS_PER_MODULE * plane + np.arange(len(sensors)),
        origin=np.array([[sensor.x, sensor.y, z + sensor.z] for sensor in sensors]),
        axis_u=np.column_stack([c, s, zero]),
        axis_v=np.column_stack([-s, c, zero]),
        half_sizes=np.tile([0.5 * size.length, 0.5 * size.width], (len(sensors), 1)),
    )


def _strips(layer: StripLayer, lean: float) -> Pieces:
    """Sectors or mats of a layer that leans by dz/dy, at their nominal positions."""
    count = len(layer.pieces)
    along = np.array([layer.dxdy, 1.0, lean]) / np.sqrt(1.0 + layer.dxdy**2 + lean**2)
    across = np.array([1.0, 0.0, 0.0]) - along[0] * along
    return Pieces(
        numbers=np.array([piece.number for piece in layer.pieces]),
        origin=np.array([[p.x, p.y, layer.z + lean * p.y + p.z] for p in layer.pieces]),
        axis_u=np.tile(across / np.linalg.norm(across), (count, 1)),
        axis_v=np.tile(along, (count, 1)),
        half_sizes=np.array([[p.half_width, p.half_height] for p in layer.pieces]),
    )
