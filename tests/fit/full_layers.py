"""The material and hits that tracks of the full fit meet, in the order of z."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Material, Rectangle, Slab, StripLayer
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.fit.candidates import Candidates

F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

SAME_MODULE = 3.0  # mm; sensors of a module lie this close to its plane, those of the next module do not


@dataclass(frozen=True)
class Layer:
    """One surface for every track; arrays are (n,) or (n, …).

    Attributes
    ----------
    detector : str
        velo, ut or scifi; empty for passive material.
    plane : (n, 3) float64
        z0, dz/dx, dz/dy, mm; the plane goes through the track's hit, if it has one.
    present : (n,) bool
        The tracks that reach this surface.
    measured : (n,) bool
        The tracks with a hit on it.
    x, dxdy, variance : (n,) float64
        The hit: x at y = 0 in mm, slope, variance in mm². For pixels, the measured x; the slope is unused.
    y : (n,) float64 or None
        Measured y of pixels; None for strips.
    material : Material
    thickness : float
        mm, at normal incidence.
    covers : Coverage or None
        Where the material is; None means everywhere.
    """

    detector: str
    plane: F64
    present: Bool
    measured: Bool
    x: F64
    dxdy: F64
    variance: F64
    y: F64 | None
    material: Material
    thickness: float
    covers: "Coverage | None"


@dataclass(frozen=True)
class Coverage:
    """Where a plane has material: panels in the element's own coordinates, minus an opening.

    Attributes
    ----------
    origin, to_local
        Of the element's coordinate frame.
    shear : float
        Slope of its strips.
    panels : tuple of (u, v, cosine, sine, half length, half width)
        None means an infinite plane.
    hole : Rectangle
    """

    origin: F64
    to_local: F64
    shear: float
    panels: tuple[tuple[float, ...], ...]
    hole: Rectangle

    def __call__(self, x: F64, y: F64) -> Bool:
        """Whether there is material at (x, y), (n,) each."""
        u, v = self.to_local @ np.stack([x - self.origin[0], y - self.origin[1]])
        u = u - self.shear * v
        covered = np.full(x.shape, not self.panels)
        for centre_u, centre_v, cosine, sine, half_length, half_width in self.panels:
            along, across = u - centre_u, v - centre_v
            covered |= (np.abs(cosine * along + sine * across) <= half_length) & (
                np.abs(cosine * across - sine * along) <= half_width
            )
        return covered & ~((np.abs(u) < self.hole.half_width) & (np.abs(v) < self.hole.half_height))


def layers_of(geometry: Geometry, tracks: Candidates) -> list[Layer]:
    """All surfaces from the first VELO hit on, in the order in which tracks cross them."""
    description = geometry.description
    downstream: list[tuple[float, Layer]] = [
        (slab.z, _slab(slab, description.materials[slab.material], tracks.count))
        for slab in description.slabs
    ]
    downstream += _strips(geometry, tracks)
    return [*_velo(geometry, tracks), *(layer for _, layer in sorted(downstream, key=lambda pair: pair[0]))]


def _slab(slab: Slab, material: Material, count: int) -> Layer:
    none, zero = np.zeros(count, bool), np.zeros(count)
    hole = Rectangle(half_width=slab.opening, half_height=slab.opening)
    return Layer(
        detector="",
        plane=np.tile([slab.z, 0.0, 0.0], (count, 1)),
        present=~none,
        measured=none,
        x=zero,
        dxdy=zero,
        variance=zero + 1.0,
        y=None,
        material=material,
        thickness=slab.thickness,
        covers=Coverage(np.zeros(3), np.eye(2), 0.0, (), hole),
    )


def _strips(geometry: Geometry, tracks: Candidates) -> Iterator[tuple[float, Layer]]:
    description = geometry.description
    planes = geometry.planes()
    for name, part, numbers, hits in (
        ("ut", description.ut, UT_PLANES, tracks.ut),
        ("scifi", description.scifi, SCIFI_PLANES, tracks.scifi),
    ):
        for layer, number in enumerate(numbers):
            x, z, dxdy, sigma = (rows[:, layer].astype(np.float64) for rows in hits)
            measured = np.isfinite(x)
            x, dxdy = np.where(measured, x, 0.0), np.where(measured, dxdy, 0.0)
            z0, dzdx, _ = planes[number]
            plane = np.tile(planes[number], (tracks.count, 1))
            plane[:, 0] = np.where(measured, z - dzdx * x, z0)
            strip: StripLayer = part.layers[layer]
            frame = geometry.frames[number]
            panel = (0.0, 0.0, 1.0, 0.0, strip.half_width, strip.half_height)
            yield (
                float(z0),
                Layer(
                    detector=name,
                    plane=plane,
                    present=np.ones(tracks.count, bool),
                    measured=measured,
                    x=x,
                    dxdy=dxdy,
                    variance=np.where(measured, sigma**2, 1.0),
                    y=None,
                    material=description.materials[part.material],
                    thickness=part.thickness,
                    covers=Coverage(frame.origin, frame.to_local, strip.dxdy, (panel,), part.hole),
                ),
            )


def _velo(geometry: Geometry, tracks: Candidates) -> Iterator[Layer]:
    """Yield hits and modules crossed without a hit, by slots that ascend in z along each track."""
    velo = geometry.description.velo
    x, y, z = (rows.astype(np.float64) for rows in tracks.velo)
    used = np.arange(x.shape[1]) < tracks.velo_n[:, None]
    z = np.where(used, z, np.inf)
    missed = _missed_modules(geometry, x, y, z, used)
    z = np.concatenate([z, np.where(missed, geometry.planes()[VELO_PLANES, 0], np.inf)], axis=1)
    filling = np.zeros(missed.shape)
    x, y = np.concatenate([x, filling], axis=1), np.concatenate([y, filling], axis=1)
    hit = np.concatenate([used, missed & False], axis=1)
    order = np.argsort(z, axis=1, kind="stable")[:, : int(np.isfinite(z).sum(1).max(initial=0))]
    x, y, z, hit = (np.take_along_axis(values, order, axis=1) for values in (x, y, z, hit))
    zero = np.zeros(tracks.count)
    for slot in range(order.shape[1]):
        present = np.isfinite(z[:, slot])
        plane = np.column_stack([np.where(present, z[:, slot], 0.0), zero, zero])
        yield Layer(
            detector="velo",
            plane=plane,
            present=present,
            measured=hit[:, slot],
            x=np.where(hit[:, slot], x[:, slot], 0.0),
            dxdy=zero,
            variance=zero + velo.resolution**2,
            y=np.where(hit[:, slot], y[:, slot], 0.0),
            material=geometry.description.materials[velo.material],
            thickness=velo.thickness,
            covers=None,
        )


def _missed_modules(geometry: Geometry, x: F64, y: F64, z: F64, used: Bool) -> Bool:
    """Find the modules (n, 52) behind the first hit that a track crosses without a hit.

    The track is the straight line through its first and last hit.
    """
    velo = geometry.description.velo
    last = np.maximum(used.sum(1) - 1, 0)[:, None]
    x0, y0, z0 = x[:, 0], y[:, 0], z[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        per_z = 1.0 / (np.take_along_axis(z, last, 1)[:, 0] - z0)
        tx = (np.take_along_axis(x, last, 1)[:, 0] - x0) * per_z
        ty = (np.take_along_axis(y, last, 1)[:, 0] - y0) * per_z
    missed = np.zeros((len(x), len(VELO_PLANES)), bool)
    half = (0.5 * velo.sensor.length, 0.5 * velo.sensor.width)
    panels = {
        name: tuple(
            (s.x, s.y, math.cos(math.radians(s.angle)), math.sin(math.radians(s.angle)), *half)
            for s in side.sensors
        )
        for name, side in (("left", velo.left), ("right", velo.right))
    }
    nothing = Rectangle(half_width=0.0, half_height=0.0)
    for plane, (_, side) in zip(VELO_PLANES, velo.modules, strict=True):
        frame = geometry.frames[plane]
        z_module = frame.plane[0]
        dz = z_module - z0
        covers = Coverage(frame.origin, frame.to_local, 0.0, panels[side], nothing)
        near = (np.abs(z - z_module) < SAME_MODULE).any(1)
        missed[:, plane] = covers(x0 + tx * dz, y0 + ty * dz) & (dz > SAME_MODULE) & ~near
    return missed
