"""Paths of particles of known momentum through field and material, and how hits scatter about them."""

from dataclasses import dataclass

import numpy as np

import parkf._transport as _transport
from parkf.data.field.matter import momentum_loss, scattering
from parkf.data.field.nuisances import Z_SCIFI, Values, changed_field
from parkf.data.field.tracks import TrueTracks
from parkf.detector.description import Material, Tube
from parkf.detector.field import FieldMap
from parkf.detector.frame import Floats
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry

_TOLERANCE = 1e-3  # mm; of a Runge-Kutta step
# The largest loss in one collision that is not a tail: 1.8 errors of the fitted momentum, of 0.4 % each.
_CUT = 1.8 * 0.004


@dataclass(frozen=True)
class Path:
    """Where tracks cross the planes of their hits; NaN where they do not arrive."""

    velo: Floats  # (n, 26, 2): x, y in mm
    strips: Floats  # (n, 16): x - dx/dy y of the crossing, mm
    z: Floats  # (n, 16) mm
    # Of each layer behind the last VELO hit: z (n,) mm, width of the projected scattering angle (n,) rad,
    # which is 0 where a track misses the layer, and slopes (n, 2).
    kicks: list[tuple[Floats, Floats, Floats]]


@dataclass(frozen=True)
class _Layer:
    plane: tuple[float, float, float]
    thickness: float
    material: Material
    hole: tuple[float, float]  # half sizes, mm
    slot: int  # of a hit, -1 for passive material

    def moved(self, values: Values) -> float:
        """Shift in z of a layer of strips, mm."""
        stretch = values.get("scifi_stretch", 0.0) * (self.plane[0] - Z_SCIFI)
        return values.get("scifi_z", 0.0) + stretch if self.slot >= len(UT_PLANES) else 0.0

    def turned(self, values: Values) -> float:
        """Rotation of a layer of strips about the beam, rad."""
        twist = 1e-3 * values.get("scifi_twist", 0.0) * (self.plane[0] - Z_SCIFI)
        return values.get("scifi_turn", 0.0) + twist if self.slot >= len(UT_PLANES) else 0.0


def follow(tracks: TrueTracks, lines: Floats, geometry: Geometry, field: FieldMap, values: Values) -> Path:
    """Carry tracks from their last VELO hit to all their hits.

    `lines` (n, 5) are x, y, tx, ty there, in mm and rad, and the relative excess of the momentum over the
    true one. `values` are nuisances. Momentum is lost in the material that a track crosses.
    """
    own = changed_field(field, values).for_polarity(tracks.polarity)
    states, z = np.column_stack([lines[:, :4], np.empty(tracks.count)]), tracks.last_z
    p = tracks.p * (1.0 + lines[:, 4])
    cut, lost = _CUT * tracks.p, 1.0 + values.get("loss", 0.0)

    def loses(material: Material, length: Floats) -> Floats:
        return lost * momentum_loss(material, length, p, tracks.mass, cut)

    velo, materials = geometry.velo, geometry.description.materials
    steep = np.sqrt(1.0 + lines[:, 2] ** 2 + lines[:, 3] ** 2)
    modules = np.isfinite(tracks.velo[..., 2]).sum(axis=1)
    tubes = geometry.description.tubes
    for tube in tubes:
        p = p - loses(materials[tube.material], _wall(tube, states, z, np.full_like(z, -np.inf), z)[1])
    p = p - loses(materials[velo.material], velo.thickness * steep * (modules - 0.5))
    states[:, 4] = tracks.charge / p
    in_velo = np.full((*tracks.velo.shape[:2], 2), np.nan)
    row, slot = np.nonzero(np.isfinite(tracks.velo[..., 2]))
    in_velo[row, slot] = _carry(own, states[row], z[row], (tracks.velo[row, slot, 2], 0.0, 0.0))[0][:, :2]
    p = p - loses(materials[velo.material], 0.5 * velo.thickness * steep)

    strips, crossed, kicks = np.full(tracks.x.shape, np.nan), np.full(tracks.x.shape, np.nan), []
    for layer in _layers(geometry):
        z0, dzdx, dzdy = layer.plane
        at = np.full(tracks.count, z0)
        if layer.slot >= 0:
            here = tracks.z[:, layer.slot] - dzdx * tracks.x[:, layer.slot]
            at = np.where(np.isfinite(here), here, at) + layer.moved(values)
        for tube in tubes:
            wall, length = _wall(tube, states, z, z, at)
            if length.any():
                p = p - loses(materials[tube.material], length)
                width = scattering(materials[tube.material], length, p, tracks.mass)
                kicks.append((wall, width, states[:, 2:4]))
        states[:, 4] = tracks.charge / p
        states, z = _carry(own, states, z, (at, dzdx, dzdy))
        tx, ty = states[:, 2], states[:, 3]
        outside = (np.abs(states[:, 0]) >= layer.hole[0]) | (np.abs(states[:, 1]) >= layer.hole[1])
        length = np.asarray(layer.thickness * outside * np.sqrt(1.0 + tx**2 + ty**2), np.float64)
        p = p - loses(layer.material, length)
        kicks.append((z, scattering(layer.material, length, p, tracks.mass), states[:, 2:4]))
        if layer.slot >= 0:
            turn = layer.turned(values)
            x, y = states[:, 0] + turn * states[:, 1], states[:, 1] - turn * states[:, 0]
            strips[:, layer.slot], crossed[:, layer.slot] = x - tracks.dxdy[:, layer.slot] * y, z
    return Path(in_velo, strips, crossed, kicks)


def _wall(tube: Tube, states: Floats, z: Floats, begin: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Where tracks leave a tube, z (n,) in mm, and the length of its wall there; 0 if not within z of both.

    The tangent (n, 5) at z (n,) determines the crossing, as in the simulation.
    """
    (x, y, tx, ty), tiny = states[:, :4].T, 1e-12
    slope2 = np.maximum(tx**2 + ty**2, tiny)
    along, rest = (x * tx + y * ty) / slope2, (x**2 + y**2 - tube.radius**2) / slope2
    at = z - along + np.sqrt(np.maximum(along**2 - rest, 0.0))
    crossed = (along**2 > rest) & (at >= begin) & (at < end) & (at > tube.z_min) & (at < tube.z_max)
    return at, np.where(crossed, tube.thickness * np.sqrt(1.0 + slope2), 0.0)


def _carry(
    field: _transport.Field, states: Floats, z: Floats, plane: tuple[Floats | float, float, float]
) -> tuple[Floats, Floats]:
    """Carry states (n, 5) from z (n,) to planes (z0, dzdx, dzdy); NaN where they do not arrive."""
    planes = np.column_stack([np.broadcast_to(np.asarray(column, float), z.shape) for column in plane])
    start, at, planes = (np.ascontiguousarray(one) for one in (states, z, planes))
    ends, end, ok = _transport.propagate(field, start, at, planes, _TOLERANCE, 1)
    ends[~ok], end[~ok] = np.nan, np.nan
    return ends, end


def _layers(geometry: Geometry) -> list[_Layer]:
    """Layers of material behind the VELO, in ascending z."""
    planes, materials, found = geometry.planes(), geometry.description.materials, []
    for plane, part, _ in geometry.strip_layers():
        first = UT_PLANES.start if plane in UT_PLANES else SCIFI_PLANES.start - len(UT_PLANES)
        hole = part.hole.half_width, part.hole.half_height
        z0, dzdx, dzdy = planes[plane].tolist()
        material = materials[part.material]
        found.append(_Layer((z0, dzdx, dzdy), part.thickness, material, hole, plane - first))
    for slab in geometry.description.slabs:
        hole = slab.opening, slab.opening
        found.append(_Layer((slab.z, 0.0, 0.0), slab.thickness, materials[slab.material], hole, -1))
    return sorted(found, key=lambda layer: layer.plane[0])


def covariance(tracks: TrueTracks, path: Path, geometry: Geometry) -> Floats:
    """Covariance (n, 68, 68) in mm² of x of VELO hits, their y, and x - dx/dy y of UT and SciFi hits.

    The path begins at the last VELO hit. A scattering displaces hits by its angle times the distance along z:
    the magnet's focusing changes this by some per cent.
    """
    velo, strips = tracks.velo, np.nan_to_num(tracks.dxdy)
    zero, one = np.zeros(velo.shape[:2]), np.ones(velo.shape[:2])
    by_x = np.concatenate([one, zero, np.ones_like(strips)], axis=1)
    by_y = np.concatenate([zero, one, -strips], axis=1)
    z_velo = velo[..., 2]
    z = np.concatenate([z_velo, z_velo, path.z], axis=1)
    sigma = np.concatenate([np.full(z_velo.shape, geometry.velo.resolution)] * 2 + [tracks.sigma], axis=1)
    result = np.zeros((tracks.count, z.shape[1], z.shape[1]))
    diagonal = np.arange(z.shape[1])
    result[:, diagonal, diagonal] = np.where(np.isfinite(sigma), sigma, 1.0) ** 2

    def add(lever: Floats, width: Floats, slopes: Floats) -> None:
        lever, width, slopes = (np.nan_to_num(one) for one in (lever, width, slopes))
        square = width**2 * (1.0 + (slopes**2).sum(axis=1))
        for axis, part in enumerate((by_x, by_y)):
            moved = lever * part * np.sqrt(square * (1.0 + slopes[:, axis] ** 2))[:, None]
            np.add(result, moved[:, :, None] * moved[:, None, :], out=result)

    for at, width, slopes in path.kicks:
        add(np.maximum(z - at[:, None], 0.0), width, slopes)
    # Before the last VELO hit, the path is followed backwards through the modules.
    material = geometry.description.materials[geometry.velo.material]
    width = scattering(material, np.full(tracks.count, geometry.velo.thickness), tracks.p, tracks.mass)
    straight = np.zeros((tracks.count, 2))
    behind = np.zeros((tracks.count, strips.shape[1]))
    for at in z_velo.T[np.isfinite(z_velo).any(axis=0)]:
        lever = np.maximum(at[:, None] - z_velo, 0.0)
        add(np.concatenate([lever, lever, behind], axis=1), width, straight)
    return result
