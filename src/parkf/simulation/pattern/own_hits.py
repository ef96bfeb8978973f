"""Hits that particles left behind, by truth."""

import numpy as np

from parkf.detector.geometry import PLANES, SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.io.events import Columns, particle_key
from parkf.io.kinds import LONG, Kind
from parkf.io.tables import VELO_SLOTS
from parkf.simulation.pattern.ut import FEWEST as FEWEST_UT
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


def find_own_hits(hits: Columns, kind: Kind = LONG) -> Columns:
    """Collect the hits of particles of a kind, sorted by event and particle.

    A particle is seen in the VELO if it has hits in enough modules, in the UT if it has hits in enough
    layers, and in the SciFi if it has hits in an x layer and in a stereo layer of each station. This is
    LHCb's definition of reconstructible tracks. A particle is of the kind if it is seen in the kind's
    detectors and in no other; a long track need not be seen in the UT. Its hits are used as they are,
    including outliers. If it has several hits in a layer, the first is used.

    `hits` are columns of `parkf.io.tables.HITS`, sorted by event and plane. Return rows of `hits`: `velo`
    (n, 26) in ascending z, -1 behind the last hit; `ut` (n, 4) and `scifi` (n, 12), -1 for a layer without
    a hit.
    """
    on_plane = hits_on_planes(hits)
    stations = on_plane[:, SCIFI_PLANES].reshape(len(on_plane), -1, _LAYERS_PER_STATION) >= 0
    in_velo = (on_plane[:, VELO_PLANES] >= 0).sum(1) >= FEWEST_HITS
    in_ut = (on_plane[:, UT_PLANES] >= 0).sum(1) >= FEWEST_UT
    in_scifi = np.all(stations[..., [0, 3]].any(2) & stations[..., [1, 2]].any(2), axis=1)
    wanted = (in_velo == kind.velo) & (in_scifi == kind.scifi)
    if kind is not LONG:
        wanted &= in_ut == kind.ut
    own = on_plane[wanted]

    def rows_of(planes: range, *, used: bool) -> np.ndarray:
        return own[:, planes] if used else np.full((len(own), len(planes)), -1)

    velo = rows_of(VELO_PLANES, used=kind.velo)
    order = np.argsort(np.where(velo >= 0, hits["z"][velo], np.inf), axis=1)
    velo = np.take_along_axis(velo, order, axis=1)
    # If there are more hits than slots, the slots hold the last hits.
    surplus = np.maximum((velo >= 0).sum(1) - VELO_SLOTS, 0)[:, None]
    velo = np.take_along_axis(velo, surplus + np.arange(VELO_SLOTS), axis=1)
    return {
        "velo": velo,
        "ut": rows_of(UT_PLANES, used=kind.ut),
        "scifi": rows_of(SCIFI_PLANES, used=kind.scifi),
    }
