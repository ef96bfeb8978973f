"""Features of LHCb's hits: tails of the errors, clusters of several particles, hits of soft particles.

The numbers are from ten events of LHCb's full simulation, with 74 long tracks per event. They describe the
densities of hits, and the residuals of hits in tracks above 3 GeV. The residuals are distances from a fit to
the hits in the same detector.
"""

from dataclasses import dataclass

import numpy as np

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.events import Columns, select
from parkf.simulation.groups import ragged

# A stranger is a hit of a particle that the simulation does not contain.
JITTER = 20.0  # mm; width of the distance between a stranger and the real hit that it is modelled on
BEAM_SPREAD = 60.0  # mm; width, along the beam, of the point that a stranger's direction points back to
SHORTEST_WAY, STEEPEST = 20.0, 0.6  # mm and slope: limits of a stranger's direction
# SciFi clusters whose hits are more than LARGE_EXTENT (mm) apart have at least the error of this size class.
LARGE_CLUSTER, LARGE_EXTENT = 4, 0.20


@dataclass(frozen=True)
class Crowd:
    """Model of one detector: hits of particles that are not simulated, and errors of its clusters."""

    # Number of stubs for each hit of a particle. A stub is a short straight piece of a track, mostly of an
    # electron of a few MeV.
    stubs: float
    length: float  # mean number of layers of a stub, before the limit `longest`
    longest: int  # largest number of layers of a stub; longer tracks are from simulated particles
    # A stub lies farther from the beam than the hit that it is modelled on: by a factor of up to 1 + spread.
    spread: float
    turn: float  # rad; width of the angle between a stub and the direction from the beam
    singles: float  # number of hits in a single layer, for each hit of a particle
    merged: float  # mm; hits of several particles that are closer than this are one cluster
    # Each entry has the largest error of the clusters that it describes (mm), the fraction of these clusters
    # in the tail, and the width of the tail (mm).
    tails: tuple[tuple[float, float, float], ...]


VELO = Crowd(0.10, 1.6, 2, 0.2, 0.05, 0.02, 0.06, ((1.0, 0.003, 0.08),))
UT = Crowd(0.75, 2.2, 4, 3.0, 0.15, 0.08, 0.12, ())
SCIFI = Crowd(0.32, 4.0, 8, 3.0, 0.4, 0.2, 0.30, ((0.10, 0.016, 0.30), (0.20, 0.25, 0.50)))
# Planes of a detector, the step to the next plane on the same side of the beam, and the model of its crowd.
DETECTORS = ((VELO_PLANES, 2, VELO), (UT_PLANES, 1, UT), (SCIFI_PLANES, 1, SCIFI))


def erring(sigma: np.ndarray, crowd: Crowd, choice: np.ndarray) -> np.ndarray:
    """Return the width (n,) in mm of the distribution from which each cluster's error is drawn.

    It is `sigma` (n,) for most clusters, and larger in the tails. `choice` (n,) is uniform between 0 and 1.
    """
    width, rest = sigma.copy(), np.ones(len(sigma), bool)
    for largest, fraction, tail in crowd.tails:
        of = rest & (sigma <= largest)
        width[of & (choice < fraction)] = tail
        rest &= ~of
    return width


def strangers(
    plane: np.ndarray, x: np.ndarray, y: np.ndarray, geometry: Geometry, random: np.random.Generator
) -> list[Columns]:
    """Draw crossings of one event that belong to no simulated particle.

    Their number is proportional to the number n of the particles' crossings, whose `plane`, `x` and `y` are
    (n,). Their positions are those of real hits, turned by 180° about the beam and moved by about `JITTER`.
    Return columns `plane`, `x` and `y` (mm), by detector.
    """
    z = geometry.planes()[:, 0]
    found = []
    for planes, step, crowd in DETECTORS:
        inside = np.flatnonzero((plane >= planes.start) & (plane < planes.stop))
        for rate, length in ((crowd.stubs, crowd.length), (crowd.singles, 1.0)):
            count = random.poisson(rate * len(inside))
            model = inside[random.integers(0, len(inside), count)] if count else inside[:0]
            jitter = JITTER * random.standard_normal((2, count))
            stretch = 1.0 + crowd.spread * random.random(count)
            start = np.stack([jitter[0] - stretch * x[model], jitter[1] - stretch * y[model]])
            way = z[plane[model]] - BEAM_SPREAD * random.standard_normal(count)
            way = np.where(np.abs(way) < SHORTEST_WAY, SHORTEST_WAY, way)
            slopes = np.clip(start / way, -STEEPEST, STEEPEST)
            slopes += crowd.turn * random.standard_normal((2, count))
            layers = np.minimum(random.geometric(1.0 / length, count), crowd.longest)
            # A stub may begin before the hit that it is modelled on.
            before = (layers * random.random(count)).astype(int)
            stub, place = ragged(-before, layers - before)
            at = plane[model][stub] + step * place
            kept = (at >= planes.start) & (at < planes.stop)
            stub, at = stub[kept], at[kept]
            reached = start[:, stub] + slopes[:, stub] * (z[at] - z[plane[model][stub]])
            seen = np.flatnonzero(_sees(at, reached, geometry))
            x_seen, y_seen = reached[:, seen]
            found.append({"plane": at[seen], "x": x_seen, "y": y_seen})
    return found


def _sees(plane: np.ndarray, place: np.ndarray, geometry: Geometry) -> np.ndarray:
    """Whether a crossing hits strips or fibres. All crossings in the VELO are assumed to hit sensors."""
    x, y = np.abs(place)
    seen = np.ones(len(plane), bool)
    for index, part, layer in geometry.strip_layers():
        inside = (x < layer.half_width) & (y < layer.half_height)
        inside &= (x > part.hole.half_width) | (y > part.hole.half_height)
        seen &= (plane != index) | inside
    return seen


def merge(hits: Columns, geometry: Geometry) -> Columns:
    """Merge hits that are too close for separate clusters; each particle keeps a row, at the common position.

    Hits are columns of `parkf.io.tables.HITS`, in any order. The result is sorted by event, plane and x. If
    hits of particles and hits of no particle merge, the cluster has rows for the particles only.
    """
    if not len(hits["x"]):
        return hits
    reach = np.zeros(SCIFI_PLANES.stop)
    for planes, _, crowd in DETECTORS:
        reach[planes] = crowd.merged
    # All strips of one row have the same y. So do all fibres of one half.
    row = np.where(hits["plane"] < VELO_PLANES.stop, 0.0, hits["y"])
    order = np.lexsort((hits["particle"], hits["x"], row, hits["plane"], hits["event"]))
    hits, row = select(hits, order), row[order]
    pixel, fibre = hits["plane"] < VELO_PLANES.stop, hits["plane"] >= SCIFI_PLANES.start
    near = np.diff(hits["x"]) < reach[hits["plane"]][1:]
    for values in (hits["event"], hits["plane"], row):
        near &= values[1:] == values[:-1]
    near &= ~pixel[1:] | (np.abs(np.diff(hits["y"])) < VELO.merged)
    near = np.concatenate([[False], near])
    first = np.flatnonzero(~near)
    size, cluster = np.diff(first, append=len(near)), np.cumsum(~near) - 1
    several = (size > 1)[cluster]

    extent = np.maximum.reduceat(hits["x"], first) - np.minimum.reduceat(hits["x"], first)
    error = np.maximum.reduceat(hits["sigma"], first)
    large = np.maximum(error, geometry.scifi.hit_errors[LARGE_CLUSTER])
    error = np.where(fibre[first] & (extent > LARGE_EXTENT), large, error)
    hits["sigma"] = np.where(several, error[cluster], hits["sigma"])
    hits["z"] = np.where(several, hits["z"][first][cluster], hits["z"])
    for name in ("x", "y"):
        mean = np.add.reduceat(hits[name], first) / size
        hits[name] = np.where(several, mean[cluster], hits[name])

    owned = np.logical_or.reduceat(hits["particle"] >= 0, first)[cluster]
    repeated = near & np.concatenate([[False], np.diff(hits["particle"]) == 0])
    kept = np.flatnonzero(~several | (owned & (hits["particle"] >= 0) & ~repeated) | (~owned & ~near))
    hits = select(hits, kept)
    order = np.lexsort((hits["particle"], hits["y"], hits["x"], hits["plane"], hits["event"]))
    return select(hits, order)
