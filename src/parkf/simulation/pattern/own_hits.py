"""Hits that particles left behind, by truth."""

import numpy as np

from parkf.detector.geometry import PLANES, SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.io.events import Columns, particle_key
from parkf.io.tables import VELO_SLOTS
from parkf.simulation.pattern.velo import FEWEST_HITS

_LAYERS_PER_STATION = 4


def hits_on_planes(hits: Columns) -> np.ndarray:
    """Return the row of each particle's first hit on each plane, (n, 70), by event and particle; -1 for none.

    Hits are columns (m,) of `parkf.io.tables.HITS`.
    """
    rows = np.flatnonzero(hits["particle"] >= 0)
    key = particle_key({name: hits[name][rows] for name in ("event", "particle")})
    owner = np.unique(key, return_inverse=True)[1]
    on_plane = np.full((owner.max(initial=-1) + 1, PLANES), -1)
    # NumPy keeps the value written last, and hits are written backwards, so the first hit on a plane stays.
    on_plane[owner[::-1], hits["plane"][rows[::-1]]] = rows[::-1]
    return on_plane


def find_own_hits(hits: Columns) -> Columns:
    """Collect the hits of particles that a search can find in VELO and SciFi, sorted by event and particle.

    A particle counts if it has hits in enough VELO modules and, in each SciFi station, in an x layer and in a
    stereo layer. This is LHCb's definition of a reconstructible long track. Its hits are used as they are,
    including outliers. If it has several hits in a layer, the first is used.

    `hits` are columns of `parkf.io.tables.HITS`, sorted by event and plane. Return rows of `hits`: `velo`
    (n, 26) in ascending z, -1 behind the last hit; `ut` (n, 4) and `scifi` (n, 12), -1 for a layer without
    a hit.
    """
    on_plane = hits_on_planes(hits)
    stations = on_plane[:, SCIFI_PLANES].reshape(len(on_plane), -1, _LAYERS_PER_STATION) >= 0
    in_stations = stations[..., [0, 3]].any(2) & stations[..., [1, 2]].any(2)
    enough = (on_plane[:, VELO_PLANES] >= 0).sum(1) >= FEWEST_HITS
    long = on_plane[enough & np.all(in_stations, axis=1)]

    velo = long[:, VELO_PLANES]
    order = np.argsort(np.where(velo >= 0, hits["z"][velo], np.inf), axis=1)
    velo = np.take_along_axis(velo, order, axis=1)
    # If there are more hits than slots, the slots hold the last hits.
    surplus = np.maximum((velo >= 0).sum(1) - VELO_SLOTS, 0)[:, None]
    velo = np.take_along_axis(velo, surplus + np.arange(VELO_SLOTS), axis=1)
    return {"velo": velo, "ut": long[:, UT_PLANES], "scifi": long[:, SCIFI_PLANES]}
