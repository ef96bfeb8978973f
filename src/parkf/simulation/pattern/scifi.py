"""SciFi segments: hits of one particle in at least nine layers, or other hits closer to its curve."""

from dataclasses import dataclass

import numpy as np

from parkf.detector.geometry import SCIFI_PLANES, Geometry
from parkf.io.events import particle_key
from parkf.io.planes import SCIFI_LAYERS
from parkf.simulation.pattern.curves import PASSES, enough, fit_curves, places_at, slope_at
from parkf.simulation.pattern.layer_search import LayerSearch
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.windows import Windows


@dataclass(frozen=True)
class SciFiSegments:
    """SciFi segments of some events, sorted by event and particle: the one whose hits were followed.

    `hits` (n, 12) are rows of the hit table, one a layer, -1 where there is none; `states` (n, 4) are x, y
    in mm and tx, ty at the reference z; `tx_end` (n,) is the slope in x at the last layer.
    """

    event: np.ndarray
    particle: np.ndarray
    hits: np.ndarray
    states: np.ndarray
    tx_end: np.ndarray


def find_scifi_segments(
    hits: dict[str, np.ndarray], *, geometry: Geometry, magnet: MagnetModel, windows: Windows
) -> SciFiSegments:
    """Collect the SciFi hits of every particle that is seen in enough layers, by :func:`follow_curves`.

    The first curve is fitted to the particle's own hits.
    """
    rows = np.flatnonzero(hits["plane"] >= SCIFI_PLANES.start)
    layer = (hits["plane"][rows] - SCIFI_PLANES.start).astype(np.int64)
    own = own_hits(hits["event"][rows], hits["particle"][rows], layer)
    begun = np.where(own >= 0, rows[own], -1) if len(rows) else own
    begun = begun[enough(own, windows.scifi_layers)]
    return follow_curves(hits, begun, geometry=geometry, magnet=magnet, windows=windows)


def follow_curves(
    hits: dict[str, np.ndarray],
    begun: np.ndarray,
    *,
    geometry: Geometry,
    magnet: MagnetModel,
    windows: Windows,
) -> SciFiSegments:
    """Fit curves to hits. Then take the hit nearest to the curve in each layer, and fit the curve again.

    A hit nearer than `windows.scifi` is taken, whichever particle made it. `begun` (n, 12) are the first rows
    of `hits`, sorted by event, -1 for a layer without.
    """
    z_reference, cubic_ratio = magnet.z_scifi, magnet.cubic_ratio
    rows = np.flatnonzero(hits["plane"] >= SCIFI_PLANES.start)
    layer = (hits["plane"][rows] - SCIFI_PLANES.start).astype(np.int64)
    lead = begun.max(axis=1, initial=-1)
    event, particle = hits["event"][lead], hits["particle"][lead]

    upper = hits["y"][rows] > 0
    curve = fit_curves(hits, begun, z_reference, cubic_ratio)

    z0, dzdx, dzdy = geometry.planes()[SCIFI_PLANES].T
    slope = np.array([geometry.strip_slope(plane) for plane in SCIFI_PLANES])
    z = np.broadcast_to(z0, begun.shape)
    for _ in range(PASSES):
        x, y = places_at(curve, z - z_reference, cubic_ratio)
        z = z0 + dzdx * x + dzdy * y
    first_event = hits["event"].min(initial=0)
    search = LayerSearch(_group(hits["event"][rows] - first_event, layer, upper), hits["x"][rows])
    found, distance = search.nearest(
        _group((event - first_event)[:, None], np.arange(SCIFI_LAYERS), y > 0), x - slope * y
    )
    near = np.abs(distance) < windows.scifi
    collected = np.where(near, rows[np.where(near, found, 0)], -1) if len(rows) else begun
    kept = enough(collected, windows.scifi_layers)
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
