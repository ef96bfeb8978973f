"""Hits of true crossings: resolution, inefficiency and noise of the detector.

A hit is the line or the point of its element, at the element's position in the geometry. Its error is the
width of the distribution from which it was drawn. In the SciFi, the error of the element's position is added.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from parkf.detector.frame import Frame
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.events import Columns, concatenate, select
from parkf.io.tables import HITS
from parkf.simulation.random_numbers import Stream, keyed_generator
from parkf.simulation.response import crowd

UT_STRIP_LENGTH = 97.28  # mm; height of a row of UT strips; the y of a UT hit is known to within a row
# mm; noise is at positions of real hits of the layer, turned by 180° about the beam and moved by about this
# distance.
NOISE_JITTER = 20.0
NOISE = -1  # number of the particle of a noise hit


def respond(states: Columns, *, geometry: Geometry, seed: int, crowded: bool = False) -> Columns:
    """Turn the true states of some whole events into hits.

    States are columns of `parkf.io.tables.STATES`, sorted by event; hits are columns of `HITS`, sorted by
    event, plane and x. Random numbers depend on seed and event. `crowded` hits have the features of
    `parkf.simulation.response.crowd`. Otherwise errors are Gaussian, and a hit belongs to one particle.
    """
    on_sensor = (states["plane"] < UT_PLANES.stop) | (states["plane"] >= SCIFI_PLANES.start)
    crossings = _at_elements(select(states, np.flatnonzero(states["active"] & on_sensor)), geometry)
    crossings = _with_others(crossings, geometry, seed, crowded)
    crossings = select(crossings, np.argsort(crossings["plane"], kind="stable"))
    event, plane, particle = (crossings[name] for name in ("event", "plane", "particle"))
    columns: Columns = {name: np.zeros(len(event)) for name in ("x", "y", "z", "dxdy", "dzdy", "sigma")}
    detected = np.zeros(len(event), bool)
    for index, rows in _by_plane(plane):
        of = select(crossings, rows)
        part = (
            geometry.velo if index in VELO_PLANES else geometry.ut if index in UT_PLANES else geometry.scifi
        )
        detected[rows] = (of["draws"][:, 0] < part.efficiency) | (of["particle"] == NOISE)
        measure = _pixels if index in VELO_PLANES else _strips
        for name, values in measure(of, index, geometry).items():
            columns[name][rows] = values
    columns |= {"event": event, "plane": plane, "particle": particle}
    order = np.lexsort((columns["x"], event.astype(np.int64) * SCIFI_PLANES.stop + plane))
    order = order[detected[order]]
    columns = {name: columns[name][order].astype(kind.to_pandas_dtype()) for name, kind in HITS.columns}
    return crowd.merge(columns, geometry) if crowded else columns


def ut_row(y: np.ndarray) -> np.ndarray:
    """Row of UT strips at y (mm), of any shape, counted from the beam. Row 0 is from 0 to 97 mm above it."""
    return np.floor(y / UT_STRIP_LENGTH).astype(np.int64)


def _by_plane(plane: np.ndarray) -> Iterator[tuple[int, slice]]:
    """Yield each plane, and where it is in `plane` (n,), which ascends."""
    for begin, end in pairwise(np.flatnonzero(np.diff(plane, prepend=-1, append=-1))):
        yield int(plane[begin]), slice(begin, end)


def _at_elements(states: Columns, geometry: Geometry) -> Columns:
    """Move states, in place, to the elements of their planes; return the columns that crossings need."""
    crossings = {name: states[name] for name in ("event", "plane", "particle", "x", "y")}
    for index, pieces in geometry.pieces.items():
        here = np.flatnonzero(states["plane"] == index)
        if not len(here):
            continue
        line = tuple(states[name][here].astype(np.float64) for name in ("x", "y", "z", "tx", "ty"))
        crossings["x"][here], crossings["y"][here] = pieces.reached(pieces.at(*line[:2]), line)
    return crossings


def _with_others(crossings: Columns, geometry: Geometry, seed: int, crowded: bool) -> Columns:
    """Add crossings of no particle, and random numbers for each crossing.

    The random numbers are `draws` (n, 4), two uniform and two normal ones, and `choice` (n,). `choice`
    decides which crossings are in a tail; it is 1 if hits are not `crowded`.
    """
    means = np.zeros(SCIFI_PLANES.stop)
    means[VELO_PLANES] = geometry.velo.noise_per_module
    means[UT_PLANES] = geometry.ut.noise_per_layer
    means[SCIFI_PLANES] = geometry.scifi.noise_per_layer
    # The first part only serves the case without events.
    parts = [crossings | {"draws": np.zeros((0, 4)), "choice": np.ones(0)}]
    _, first = np.unique(crossings["event"], return_index=True)
    for begin, end in pairwise([*first, len(crossings["event"])]):
        own = select(crossings, slice(begin, end))
        event = int(own["event"][0])
        random = keyed_generator(seed, event, Stream.RESPONSE)
        found = [own, _noise(own, means, random)]
        draws = [_draws(random, found)]
        if crowded:
            # The crowd has separate random numbers, so that particles have the same hits with and without it.
            random = keyed_generator(seed, event, Stream.CROWD)
            strangers = crowd.strangers(own["plane"], own["x"], own["y"], geometry, random)
            found += strangers
            draws.append(_draws(random, strangers))
        count = sum(len(part["plane"]) for part in found)
        parts.append(
            {
                "event": np.full(count, event),
                "particle": np.append(own["particle"], np.full(count - len(own["particle"]), NOISE)),
                **{name: np.concatenate([part[name] for part in found]) for name in ("plane", "x", "y")},
                "draws": np.concatenate(draws),
                "choice": random.random(count) if crowded else np.ones(count),
            }
        )
    return concatenate(parts[1:] or parts)


def _noise(of: Columns, means: np.ndarray, random: np.random.Generator) -> Columns:
    """Draw noise crossings of one event; `means` (planes,) has their mean number on each plane.

    Each is a real crossing of the plane, turned by 180° about the beam and moved by about `NOISE_JITTER`.
    A plane without real crossings has no noise.
    """
    wanted = np.repeat(np.arange(len(means)), random.poisson(means))
    by_plane = np.argsort(of["plane"], kind="stable")
    low, high = (np.searchsorted(of["plane"][by_plane], wanted, side) for side in ("left", "right"))
    model = low + (random.random(len(wanted)) * (high - low)).astype(int)
    source = by_plane[np.minimum(model, len(by_plane) - 1)][high > low]
    jitter = NOISE_JITTER * random.standard_normal((2, len(source)))
    x, y = jitter[0] - of["x"][source], jitter[1] - of["y"][source]
    return {"plane": of["plane"][source], "x": x, "y": y}


def _draws(random: np.random.Generator, crossings: list[Columns]) -> np.ndarray:
    count = sum(len(part["plane"]) for part in crossings)
    return np.column_stack([random.random((count, 2)), random.standard_normal((count, 2))])


def _pixels(of: Columns, plane: int, geometry: Geometry) -> Columns:
    sigma = np.full(len(of["x"]), geometry.velo.resolution)
    width = crowd.erring(sigma, crowd.VELO, of["choice"])
    frame, u, v = _on_element(of, plane, geometry)
    x, y, z = frame.points(u + width * of["draws"][:, 2], v + width * of["draws"][:, 3])
    return {"x": x, "y": y, "z": z, "sigma": sigma}


def _on_element(of: Columns, plane: int, geometry: Geometry) -> tuple[Frame, np.ndarray, np.ndarray]:
    """Return the frame of each crossing's plane or, if the plane has pieces, of its piece; and (u, v)."""
    if plane not in geometry.pieces:
        frame = geometry.frames[plane]
        return frame, *frame.local(of["x"], of["y"])
    pieces = geometry.pieces[plane]
    piece = pieces.at(of["x"], of["y"])
    return pieces.frame(piece), *pieces.local(of["x"], of["y"], piece)


def _strips(of: Columns, plane: int, geometry: Geometry) -> Columns:
    slope, draws = geometry.strip_slope(plane), of["draws"]
    u, v = geometry.frames[plane].local(of["x"], of["y"])
    if plane in UT_PLANES:
        sigma = believed = np.full(len(u), geometry.ut.zones[-1].sigma)
        for zone in reversed(geometry.ut.zones):
            sigma[(np.abs(u) < zone.half_width) & (np.abs(v) < zone.half_height)] = zone.sigma
        middle = (ut_row(v) + 0.5) * UT_STRIP_LENGTH
    else:
        scifi = geometry.scifi
        size = np.searchsorted(np.cumsum(scifi.cluster_fractions), draws[:, 1], "right")
        size = np.minimum(size, len(scifi.cluster_errors) - 1)
        sigma, believed = np.array(scifi.cluster_errors)[size], np.array(scifi.hit_errors)[size]
        sigma = crowd.erring(sigma, crowd.SCIFI, of["choice"])
        half_height = scifi.layers[plane - SCIFI_PLANES.start].half_height
        middle = np.where(v > 0, 0.5, -0.5) * half_height
    shift = sigma * draws[:, 2]
    frame, u, v = _on_element(of, plane, geometry)
    if plane in geometry.pieces:
        # The strips of a piece are parallel to its v axis.
        x, z, dxdy, dzdy = frame.lines(u, 0.0)
        x = x + shift
    else:
        x, z, dxdy, dzdy = frame.lines(u - slope * v + shift, slope)
    return {"x": x, "y": middle, "z": z, "dxdy": dxdy, "dzdy": dzdy, "sigma": believed}
