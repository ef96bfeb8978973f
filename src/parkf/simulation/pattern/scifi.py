"""SciFi segments: hits of one particle in at least nine layers, or other hits closer to its curve."""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from parkf.detector.geometry import SCIFI_PLANES, Geometry
from parkf.io.events import particle_key
from parkf.io.planes import SCIFI_LAYERS
from parkf.io.planes import STEREO as STEREO_OF_STATION
from parkf.simulation.pattern.layer_search import LayerSearch

STEREO = np.tile(STEREO_OF_STATION, SCIFI_LAYERS // len(STEREO_OF_STATION))
"""Which layers are."""

_FEWEST_X, _FEWEST_STEREO = 3, 2

_PASSES = 2
"""Of a fit, and of the search for z: the second pass knows at which height y the first crossed a fibre."""


@dataclass(frozen=True)
class SciFiSegments:
    """SciFi segments of some events, sorted by event and particle.

    Attributes
    ----------
    event, particle : (n,) int
        The particle whose hits were followed.
    hits : (n, 12) int
        Rows of the hit table, one a layer, -1 where there is none.
    states : (n, 4) float64
        (x, y, tx, ty) at the reference z, in mm and rad.
    tx_end : (n,) float64
        rad; slope in x at the last layer.
    """

    event: np.ndarray
    particle: np.ndarray
    hits: np.ndarray
    states: np.ndarray
    tx_end: np.ndarray


def find_scifi_segments(
    hits: dict[str, np.ndarray],
    *,
    geometry: Geometry,
    z_reference: float,
    cubic_ratio: float,
    fewest: int,
    window: float,
) -> SciFiSegments:
    """Collect the SciFi hits of every particle seen in at least `fewest` layers.

    A curve is fitted to the particle's own hits; :func:`follow_curves` has the rest, and the parameters.
    """
    rows = np.flatnonzero(hits["plane"] >= SCIFI_PLANES.start)
    layer = (hits["plane"][rows] - SCIFI_PLANES.start).astype(np.int64)
    own = own_hits(hits["event"][rows], hits["particle"][rows], layer)
    begun = np.where(own >= 0, rows[own], -1) if len(rows) else own
    return follow_curves(
        hits,
        begun[enough(own, fewest)],
        geometry=geometry,
        z_reference=z_reference,
        cubic_ratio=cubic_ratio,
        fewest=fewest,
        window=window,
    )


def follow_curves(
    hits: dict[str, np.ndarray],
    begun: np.ndarray,
    *,
    geometry: Geometry,
    z_reference: float,
    cubic_ratio: float,
    fewest: int,
    window: float,
) -> SciFiSegments:
    """Fit curves to hits; then each layer gives the hit nearest to its curve, and the curve is fitted again.

    Parameters
    ----------
    hits : dict of (m,) arrays
        Columns of `parkf.io.tables.HITS`, any detectors, any number of events.
    begun : (n, 12) int
        Rows of `hits` that a segment begins with, -1 for a layer without; sorted by event.
    geometry : Geometry
        Gives the layers' planes.
    z_reference : float
        mm; where states are given.
    cubic_ratio : float
        1/mm; of the cubic to the quadratic term of x(z), see `parkf.simulation.pattern.magnet.MagnetModel`.
    fewest : int
        Layers required of the result.
    window : float
        mm; hits are taken up to this distance, whoever they belong to.
    """
    rows = np.flatnonzero(hits["plane"] >= SCIFI_PLANES.start)
    layer = (hits["plane"][rows] - SCIFI_PLANES.start).astype(np.int64)
    lead = begun.max(axis=1, initial=-1)
    event, particle = hits["event"][lead], hits["particle"][lead]

    upper = hits["y"][rows] > 0
    curve = fit_curves(hits, begun, z_reference, cubic_ratio)

    z0, dzdx, dzdy = geometry.planes()[SCIFI_PLANES].T
    slope = np.array([geometry.strip_slope(plane) for plane in SCIFI_PLANES])
    z = np.broadcast_to(z0, begun.shape)
    for _ in range(_PASSES):
        x, y = _at(curve, z - z_reference, cubic_ratio)
        z = z0 + dzdx * x + dzdy * y
    first_event = hits["event"].min(initial=0)
    search = LayerSearch(_group(hits["event"][rows] - first_event, layer, upper), hits["x"][rows])
    found, distance = search.nearest(
        _group((event - first_event)[:, None], np.arange(SCIFI_LAYERS), y > 0), x - slope * y
    )
    near = np.abs(distance) < window
    collected = np.where(near, rows[np.where(near, found, 0)], -1) if len(rows) else begun
    kept = enough(collected, fewest)
    collected = collected[kept]
    curve = fit_curves(hits, collected, z_reference, cubic_ratio)
    return SciFiSegments(
        event[kept],
        particle[kept],
        collected,
        states=curve[:, [0, 3, 1, 4]],
        tx_end=slope_at(curve, z0[-1] - z_reference, cubic_ratio),
    )


def own_hits(event: np.ndarray, particle: np.ndarray, layer: np.ndarray) -> np.ndarray:
    """(n, 12) hits of each particle that has any: the first of a layer, -1 where it has none."""
    real = np.flatnonzero(particle >= 0)
    key = particle_key({"event": event[real], "particle": particle[real]})
    by_particle = np.argsort(key, kind="stable")
    order = real[by_particle]
    start = np.diff(key[by_particle], prepend=-1) != 0
    owner = np.cumsum(start) - 1
    table = np.full((int(start.sum()), SCIFI_LAYERS), -1)
    # Among equal indices NumPy keeps the value written last: written backwards, the first hit of a layer
    # stays.
    table[owner[::-1], layer[order[::-1]]] = order[::-1]
    return table


def _group(event: np.ndarray, layer: np.ndarray, upper: np.ndarray) -> np.ndarray:
    return (event.astype(np.int64) * SCIFI_LAYERS + layer) * 2 + upper


def _at(curve: np.ndarray, z: np.ndarray, cubic_ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """(n, 12) x and y of the curves at z, relative to the reference."""
    a, b, c, d, e = (column[:, None] for column in curve.T)
    return a + b * z + c * z**2 * (1 + cubic_ratio * z), d + e * z


def fit_curves(
    fibre: dict[str, np.ndarray], collected: np.ndarray, z_reference: float, cubic_ratio: float
) -> np.ndarray:
    """Fit x(z) = a + b·z + c·z²(1 + r·z) to the x layers, y(z) = d + e·z to where that meets stereo fibres.

    All hits count alike: so does the trigger's seeding (Allen, ``seed_xz`` and ``seed_confirmTracks``).

    Parameters
    ----------
    collected : (n, 12) int
        Rows of `fibre`, -1 where there is none; three x layers and two stereo layers at least.

    Returns
    -------
    (n, 5) float64
        a, b, c, d, e in mm.
    """
    slots = np.ascontiguousarray(collected.T)
    used = slots >= 0
    x, z0, dxdy, dzdy = (fibre[name][slots] for name in ("x", "z", "dxdy", "dzdy"))
    z0 = z0 - z_reference
    per_dxdy = 1.0 / np.where(used, dxdy, 1.0)[STEREO]
    y = np.zeros_like(x)
    for _ in range(_PASSES):
        z = z0 + dzdy * y
        cubic = z * z * (1 + cubic_ratio * z)
        a, b, c = _fit_bend(z[~STEREO], cubic[~STEREO], (x + dxdy * y)[~STEREO], used[~STEREO])
        across = (a + b * z[STEREO] + c * cubic[STEREO] - x[STEREO]) * per_dxdy
        d, e = _fit_line(z[STEREO], across, used[STEREO])
        y = d + e * z
    return np.stack([a, b, c, d, e], axis=1)


def slope_at(curves: np.ndarray, z: float, cubic_ratio: float) -> np.ndarray:
    """Slope dx/dz (n,) of curves (n, 5) at z in mm, relative to the reference."""
    return curves[:, 1] + curves[:, 2] * z * (2 + 3 * cubic_ratio * z)


def enough(collected: np.ndarray, fewest: int) -> np.ndarray:
    """Which (n,) of the collected hits (n, 12), -1 for none, are so many and determine a curve."""
    used = collected >= 0
    return (
        (used.sum(1) >= fewest)
        & ((used & ~STEREO).sum(1) >= _FEWEST_X)
        & ((used & STEREO).sum(1) >= _FEWEST_STEREO)
    )


def _mean(values: np.ndarray, used: np.ndarray, count: np.ndarray) -> np.ndarray:
    return _sum(np.where(used, values, 0.0)) / count


def _sum(values: np.ndarray) -> np.ndarray:
    """Sum over layers, one after the other: a track's result depends on no other track."""
    return reduce(np.add, values)


def _fit_line(z: np.ndarray, y: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least squares d, e (n,) of y = d + e·z over the layers used; all arrays (layers, n)."""
    count = used.sum(0)
    z_mean, y_mean = _mean(z, used, count), _mean(y, used, count)
    dz = np.where(used, z - z_mean, 0.0)
    e = _sum(dz * y) / _sum(dz * dz)
    return y_mean - e * z_mean, e


def _fit_bend(
    z: np.ndarray, cubic: np.ndarray, x: np.ndarray, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least squares a, b, c (n,) of x = a + b·z + c·cubic over the layers used; all arrays (layers, n)."""
    count = used.sum(0)
    z_mean, cubic_mean, x_mean = (_mean(values, used, count) for values in (z, cubic, x))
    dz, dq = np.where(used, z - z_mean, 0.0), np.where(used, cubic - cubic_mean, 0.0)
    # Keep the part of the cubic term that is orthogonal to the slope.
    zz = _sum(dz * dz)
    share = _sum(dz * dq) / zz
    dq = dq - share * dz
    dx = np.where(used, x - x_mean, 0.0)
    c = _sum(dq * dx) / _sum(dq * dq)
    b = _sum(dz * dx) / zz - share * c
    return x_mean - b * z_mean - c * cubic_mean, b, c
