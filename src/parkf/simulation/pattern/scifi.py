"""SciFi segments: found from hits alone, as in the trigger, or begun with the hits of one particle."""

from dataclasses import dataclass

import numpy as np

import parkf._pattern as _pattern
from parkf.detector.geometry import SCIFI_PLANES, Geometry
from parkf.io.events import Columns
from parkf.io.planes import SCIFI_LAYERS
from parkf.simulation.groups import LayerSearch
from parkf.simulation.pattern.curves import PASSES, enough, fit_curves, places_at, slope_at
from parkf.simulation.pattern.magnet import P_MIN, MagnetModel
from parkf.simulation.pattern.own_hits import hits_on_planes
from parkf.simulation.pattern.velo import columns_of_search

FEWEST_LAYERS = 9  # of a segment
WINDOW = 0.7  # mm; a hit may lie this far from its segment


@dataclass(frozen=True)
class SciFiSegments:
    """SciFi segments of some events, sorted by event."""

    event: np.ndarray  # (n,)
    hits: np.ndarray  # (n, 12) rows of the hit table by layer, -1 for none
    states: np.ndarray  # (n, 4): x, y in mm and tx, ty at the reference z
    tx_end: np.ndarray  # (n,) slope in x at the last layer


def search_scifi(hits: Columns, geometry: Geometry, magnet: MagnetModel) -> SciFiSegments:
    """Find segments from hits alone; src/kernel/pattern holds the search.

    Hits are columns (m,) of `parkf.io.tables.HITS`, sorted by event and plane, each hit once. The magnet
    model determines the shape of the curves.
    """
    begun = _pattern.scifi_segments(
        *columns_of_search(hits),
        first_plane=SCIFI_PLANES.start,
        fewest=FEWEST_LAYERS,
        fewest_x=5,  # fewest x layers
        fewest_stereo=4,  # fewest stereo layers
        z_reference=magnet.z_scifi,
        cubic_ratio=magnet.cubic_ratio,
        curvature=magnet.curvature,
        farthest=magnet.chord / P_MIN,
        middle=0.8,  # mm; a hit of the middle station may lie this far off the curve expected,
        middle_share=0.001,  # plus this fraction of the x where the chord of the others meets z = 0
        window=0.5,  # mm; how far from its curve the search accepts hits
        focusing=magnet.focusing,
        y_origin=40.0,  # mm; a segment may be this far off the beam's y at z = 0, apart from focusing,
        y_origin_share=0.02,  # plus this fraction of the x where the chord meets z = 0
        half_height=max(layer.half_height for layer in geometry.scifi.layers),
        chi2_x=2.0,  # largest χ²/ndof of the x hits
        chi2=2.0,  # largest χ²/ndof of all hits
        error=0.2,  # mm; error of a hit in χ²
        shared=2,  # hits that a segment may have in common with a better one
    )
    return _follow_curves(hits, begun, geometry, magnet)


def find_scifi_segments(hits: Columns, geometry: Geometry, magnet: MagnetModel) -> SciFiSegments:
    """Find a segment for every particle that is seen in enough layers, sorted by event and particle.

    The first curve is fitted to the particle's own hits. Hits are columns (m,) of `parkf.io.tables.HITS`.
    """
    return _follow_curves(hits, hits_on_planes(hits)[:, SCIFI_PLANES], geometry, magnet)


def _follow_curves(
    hits: Columns, begun: np.ndarray, geometry: Geometry, magnet: MagnetModel
) -> SciFiSegments:
    """Fit curves to hits. Then take the hit nearest to the curve in each layer, and fit the curve again.

    A hit nearer than `WINDOW` is taken, no matter which particle made it. `begun` (n, 12) are the rows of
    `hits` that a segment begins with, sorted by event, -1 for a layer without a hit. Segments with too few
    hits are left out.
    """
    z_reference, cubic_ratio = magnet.z_scifi, magnet.cubic_ratio
    begun = begun[enough(begun, FEWEST_LAYERS)]
    event = hits["event"][begun.max(axis=1, initial=-1)]
    curve = fit_curves(hits, begun, z_reference, cubic_ratio)

    z0, dzdx, dzdy = geometry.planes()[SCIFI_PLANES].T
    slope = np.array([geometry.strip_slope(plane) for plane in SCIFI_PLANES])
    z = np.broadcast_to(z0, begun.shape)
    for _ in range(PASSES):
        x, y = places_at(curve, z - z_reference, cubic_ratio)
        z = z0 + dzdx * x + dzdy * y
    rows = np.flatnonzero(hits["plane"] >= SCIFI_PLANES.start)
    layer = (hits["plane"][rows] - SCIFI_PLANES.start).astype(np.int64)
    first_event = hits["event"].min(initial=0)
    groups = _group(hits["event"][rows] - first_event, layer, hits["y"][rows] > 0)
    own = _group((event - first_event)[:, None], np.arange(SCIFI_LAYERS), y > 0)
    found, distance = LayerSearch(groups, hits["x"][rows]).nearest(own, x - slope * y)
    collected = np.where(np.abs(distance) < WINDOW, rows[found], -1)
    kept = enough(collected, FEWEST_LAYERS)
    collected = collected[kept]
    curve = fit_curves(hits, collected, z_reference, cubic_ratio)
    tx_end = slope_at(curve, z0[-1] - z_reference, cubic_ratio)
    return SciFiSegments(event[kept], collected, states=curve[:, [0, 3, 1, 4]], tx_end=tx_end)


def _group(event: np.ndarray, layer: np.ndarray, upper: np.ndarray) -> np.ndarray:
    return (event.astype(np.int64) * SCIFI_LAYERS + layer) * 2 + upper
