"""What particles left behind in all three detectors, by truth: tracks without a search."""

from dataclasses import dataclass

import numpy as np

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.io.events import particle_key
from parkf.io.tables import VELO_SLOTS
from parkf.simulation.pattern.curves import fit_curves, slope_at
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.velo import fit_lines

_LAYERS_PER_STATION = 4


@dataclass(frozen=True)
class OwnHits:
    """Hits of particles that a pattern recognition can find in VELO and SciFi, sorted by event and particle.

    `velo` (n, 26) are rows of the hit table: the first hit of each module in ascending z, -1 behind the
    last. `ut` (n, 4) and `scifi` (n, 12) are the first hit of each layer, -1 where there is none.
    """

    event: np.ndarray
    particle: np.ndarray
    velo: np.ndarray
    ut: np.ndarray
    scifi: np.ndarray

    def h(self, hits: dict[str, np.ndarray], magnet: MagnetModel) -> np.ndarray:
        """Polarity · q/p (n,) in 1/MeV, from the segments' directions before and behind the magnet."""
        points = np.stack([hits["x"], hits["y"]], axis=1)[self.velo]
        lines = fit_lines(points, hits["z"][self.velo], (self.velo >= 0).sum(1))
        curves = fit_curves(hits, self.scifi, magnet.z_scifi, magnet.cubic_ratio)
        return magnet.h(lines, slope_at(curves, magnet.z_end - magnet.z_scifi, magnet.cubic_ratio))


def find_own_hits(hits: dict[str, np.ndarray], fewest_velo: int) -> OwnHits:
    """Collect every particle's hits from columns (m,) of `parkf.io.tables.HITS`, sorted by event and plane.

    A particle counts when it has enough VELO modules and, in each SciFi station, an x and a stereo layer:
    LHCb's definition of a reconstructible long track. Its hits are used as they are, outliers too; of
    several in a layer the first.
    """
    rows = np.flatnonzero(hits["particle"] >= 0)
    _, first, owner = np.unique(
        particle_key({name: hits[name][rows] for name in ("event", "particle")}),
        return_index=True,
        return_inverse=True,
    )
    on_plane = np.full((len(first), SCIFI_PLANES.stop), -1)
    # Among equal indices NumPy keeps the value written last: written backwards, the first hit of a layer
    # stays.
    on_plane[owner[::-1], hits["plane"][rows[::-1]]] = rows[::-1]

    velo, scifi = on_plane[:, VELO_PLANES], on_plane[:, SCIFI_PLANES]
    station = (scifi >= 0).reshape(-1, len(SCIFI_PLANES) // _LAYERS_PER_STATION, _LAYERS_PER_STATION)
    in_station = station[..., [0, 3]].any(2) & station[..., [1, 2]].any(2)
    long = np.asarray((velo >= 0).sum(1) >= fewest_velo) & np.all(in_station, axis=1)
    lead = rows[first[long]]
    return OwnHits(
        event=hits["event"][lead],
        particle=hits["particle"][lead],
        velo=_in_slots(hits["z"], velo[long]),
        ut=on_plane[long][:, UT_PLANES],
        scifi=scifi[long],
    )


def _in_slots(z: np.ndarray, velo: np.ndarray) -> np.ndarray:
    """(n, 26) rows in ascending z from (n, 52) by module; the last of them when there are more."""
    order = np.argsort(np.where(velo >= 0, z[velo], np.inf), axis=1)
    velo = np.take_along_axis(velo, order, axis=1)
    surplus = np.maximum((velo >= 0).sum(1) - VELO_SLOTS, 0)[:, None]
    return np.take_along_axis(velo, surplus + np.arange(VELO_SLOTS), axis=1)
