"""Material on straight lines from the origin, in radiation lengths."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import SensorSize, VeloSide
from parkf.detector.frame import Frame
from parkf.detector.geometry import UT_PLANES, VELO_PLANES, Geometry

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    """A layer of material, as straight lines cross it."""

    part: str  # VELO, UT, SciFi, or the name of a tube or slab
    z: float  # mm; position on the beam's axis, or where the lines first meet a tube
    x0: Floats  # (...) radiation lengths that each line crosses; 0 if it misses the layer


def budget(geometry: Geometry, eta: Floats, phi: Floats) -> list[Layer]:
    """Layers of material up to the end of the SciFi, as in the simulation, in ascending z.

    Lines from (0, 0, 0) have pseudorapidity `eta` and angle `phi` in rad, arrays of one shape.
    """
    transverse = 1.0 / np.sinh(eta)
    tx, ty = transverse * np.cos(phi), transverse * np.sin(phi)
    description = geometry.description
    lengths = {name: material.radiation_length for name, material in description.materials.items()}
    layers = []
    for plane, (_, side) in zip(VELO_PLANES, description.velo.modules, strict=True):
        frame, velo = geometry.frames[plane], description.velo
        x, y, path = _reached(frame, tx, ty)
        inside = _on_sensors(*frame.local(x, y), velo.left if side == "left" else velo.right, velo.sensor)
        inside &= frame.plane[0] > 0
        thickness = velo.thickness / lengths[velo.material]
        layers.append(Layer("VELO", float(frame.plane[0]), thickness * path * inside))
    for plane, part, layer in geometry.strip_layers():
        frame = geometry.frames[plane]
        x, y, path = _reached(frame, tx, ty)
        u, v = frame.local(x, y)
        u = np.abs(u - layer.dxdy * v)
        inside = (u < layer.half_width) & (np.abs(v) < layer.half_height)
        inside &= (u >= part.hole.half_width) | (np.abs(v) >= part.hole.half_height)
        thickness = part.thickness / lengths[part.material]
        name = "UT" if plane in UT_PLANES else "SciFi"
        layers.append(Layer(name, float(frame.plane[0]), thickness * path * inside))
    for tube in description.tubes:
        z = tube.radius / transverse
        path = np.sqrt(1.0 + tx**2 + ty**2) * ((z > tube.z_min) & (z < tube.z_max))
        layers.append(Layer(tube.name, float(z.min()), tube.thickness / lengths[tube.material] * path))
    for slab in description.slabs:
        x, y, path = _reached(Frame.upright(slab.z), tx, ty)
        inside = (np.abs(x) >= slab.opening) | (np.abs(y) >= slab.opening)
        layers.append(Layer(slab.name, slab.z, slab.thickness / lengths[slab.material] * path * inside))
    return sorted(layers, key=lambda layer: layer.z)


def _reached(frame: Frame, tx: Floats, ty: Floats) -> tuple[Floats, Floats, Floats]:
    """(x, y) where lines meet a plane, mm, and their path through it for a unit of its thickness."""
    z0, dzdx, dzdy = frame.plane
    along = 1.0 - dzdx * tx - dzdy * ty
    z = z0 / along
    path = np.sqrt((1.0 + tx**2 + ty**2) * (1.0 + dzdx**2 + dzdy**2)) / along
    return tx * z, ty * z, path


def _on_sensors(x: Floats, y: Floats, side: VeloSide, size: SensorSize) -> NDArray[np.bool_]:
    inside = np.zeros(x.shape, bool)
    for sensor in side.sensors:
        c, s = np.cos(np.radians(sensor.angle)), np.sin(np.radians(sensor.angle))
        u, v = c * (x - sensor.x) + s * (y - sensor.y), c * (y - sensor.y) - s * (x - sensor.x)
        inside |= (np.abs(u) < 0.5 * size.length) & (np.abs(v) < 0.5 * size.width)
    return inside
