"""Hits of true crossings: resolution, inefficiency and noise of the detector.

A hit carries the line or point where its own element is, as the geometry in use has it. Its error is the
width that it was drawn with; in the SciFi, the error of its position is added.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.events import Columns, concatenate, select
from parkf.io.tables import HITS
from parkf.simulation.random_numbers import Stream, keyed_generator
from parkf.simulation.response import crowd

UT_STRIP_LENGTH = 97.28
"""mm; UT strips come in rows of this height, so a UT hit knows its y to within a row."""

NOISE_JITTER = 20.0
"""mm; noise lies where the layer's real hits are, turned by 180° about the beam and moved by about this."""

NOISE = -1
"""Number of the particle of a noise hit."""


def respond(states: Columns, *, geometry: Geometry, seed: int, crowded: bool = False) -> Columns:
    """Turn the true states of some whole events into hits.

    Parameters
    ----------
    states : dict of (n,) arrays
        Columns of `parkf.io.tables.STATES`, sorted by event.
    geometry : Geometry
        Planes, resolutions, efficiencies, noise.
    seed : int
        Draws are keyed by seed and event.
    crowded : bool
        With what `parkf.simulation.response.crowd` adds. Otherwise errors are Gaussian, and a hit is of one
        particle.

    Returns
    -------
    dict of (m,) arrays
        Columns of `parkf.io.tables.HITS`, sorted by event, plane and x.
    """
    on_sensor = np.flatnonzero(states["active"] & _is_sensor(states["plane"]))
    x, y = _reached(states, on_sensor, geometry)
    crossings = {name: states[name][on_sensor] for name in ("event", "plane", "particle")} | {"x": x, "y": y}
    crossings = _with_noise(crossings, geometry, seed)
    # The crowd has random numbers of its own: particles have the same hits with and without it.
    if crowded:
        crossings = _with_crowd(crossings, geometry, seed)
    else:
        crossings["choice"] = np.ones(len(crossings["event"]))

    event, plane, particle = (crossings[name] for name in ("event", "plane", "particle"))
    columns: Columns = {name: np.zeros(len(event)) for name in ("x", "y", "z", "dxdy", "dzdy", "sigma")}
    detected = np.zeros(len(event), bool)
    for index in np.unique(plane):
        rows = np.flatnonzero(plane == index)
        measure, efficiency = (
            (_pixels, geometry.velo.efficiency)
            if index in VELO_PLANES
            else (_strips, geometry.ut.efficiency if index in UT_PLANES else geometry.scifi.efficiency)
        )
        detected[rows] = (crossings["draws"][rows, 0] < efficiency) | (particle[rows] == NOISE)
        of = select(crossings, rows)
        for name, values in measure(of, int(index), geometry).items():
            columns[name][rows] = values
    columns |= {"event": event, "plane": plane, "particle": particle}
    order = np.lexsort((columns["x"], plane, event))
    order = order[detected[order]]
    columns = {name: columns[name][order].astype(kind.to_pandas_dtype()) for name, kind in HITS.columns}
    return crowd.merge(columns, geometry) if crowded else columns


def ut_row(y: NDArray[Any]) -> NDArray[Any]:
    """Row of UT strips at y (mm), any shape, counted from the beam: 0 is 0 to 97 mm above it."""
    return np.floor(y / UT_STRIP_LENGTH).astype(np.int64)


def _is_sensor(plane: NDArray[Any]) -> NDArray[Any]:
    return (plane < UT_PLANES.stop) | (plane >= SCIFI_PLANES.start)


def _reached(states: Columns, rows: NDArray[Any], geometry: Geometry) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where particles cross the elements at their planes: (x, y) of some rows, mm."""
    x, y = states["x"][rows], states["y"][rows]
    plane = states["plane"][rows]
    for index, pieces in geometry.pieces.items():
        here = np.flatnonzero(plane == index)
        if not len(here):
            continue
        line = tuple(states[name][rows[here]].astype(np.float64) for name in ("x", "y", "z", "tx", "ty"))
        x[here], y[here] = pieces.reached(pieces.at(*line[:2]), line)
    return x, y


def _with_noise(crossings: Columns, geometry: Geometry, seed: int) -> Columns:
    """Add noise crossings, and `draws` (n, 4) of each crossing: two uniform numbers, two normal ones."""
    means = np.zeros(SCIFI_PLANES.stop)
    means[VELO_PLANES] = geometry.velo.noise_per_module
    means[UT_PLANES] = geometry.ut.noise_per_layer
    means[SCIFI_PLANES] = geometry.scifi.noise_per_layer
    parts = []
    for of in _by_event(crossings):
        random = keyed_generator(seed, int(of["event"][0]), Stream.RESPONSE)
        both = _together(of, [_noise(of, means, random)])
        parts.append(both | {"draws": _draws(random, len(both["event"]))})
    return concatenate(parts) if parts else crossings | {"draws": np.zeros((0, 4))}


def _noise(of: Columns, means: NDArray[Any], random: np.random.Generator) -> Columns:
    """Noise crossings of one event, a mean number (planes,) on each plane.

    Each is a real crossing of the plane, turned by 180° about the beam and moved by about `NOISE_JITTER`.
    A plane that nothing crosses has no noise.
    """
    wanted = np.repeat(np.arange(len(means)), random.poisson(means))
    by_plane = np.argsort(of["plane"], kind="stable")
    low, high = (np.searchsorted(of["plane"][by_plane], wanted, side) for side in ("left", "right"))
    model = low + (random.random(len(wanted)) * (high - low)).astype(int)
    source = by_plane[np.minimum(model, len(by_plane) - 1)][high > low]
    jitter = NOISE_JITTER * random.standard_normal((2, len(source)))
    x, y = jitter[0] - of["x"][source], jitter[1] - of["y"][source]
    return {"plane": of["plane"][source], "x": x, "y": y}


def _with_crowd(crossings: Columns, geometry: Geometry, seed: int) -> Columns:
    """Add crossings of no particle, and the random `choice` (n,) that puts crossings into a tail."""
    parts = []
    for of in _by_event(crossings):
        random = keyed_generator(seed, int(of["event"][0]), Stream.CROWD)
        real = of["particle"] != NOISE
        strangers = crowd.strangers(of["plane"][real], of["x"][real], of["y"][real], geometry, random)
        both = _together(of, strangers)
        draws = _draws(random, len(both["event"]) - len(of["event"]))
        both["draws"] = np.concatenate([of["draws"], draws])
        parts.append(both | {"choice": random.random(len(both["event"]))})
    return concatenate(parts) if parts else crossings | {"choice": np.ones(0)}


def _by_event(crossings: Columns) -> Iterator[Columns]:
    """Yield the crossings of each event."""
    _, first = np.unique(crossings["event"], return_index=True)
    for begin, end in pairwise([*first, len(crossings["event"])]):
        yield select(crossings, slice(begin, end))


def _together(of: Columns, others: list[Columns]) -> Columns:
    """Crossings of one event, followed by others, which are of no particle."""
    both = {name: np.concatenate([of[name], *(one[name] for one in others)]) for name in ("plane", "x", "y")}
    count = len(both["plane"])
    nobody = np.full(count - len(of["plane"]), NOISE)
    particle = np.concatenate([of["particle"], nobody])
    return both | {"event": np.full(count, of["event"][0]), "particle": particle}


def _draws(random: np.random.Generator, count: int) -> NDArray[Any]:
    return np.column_stack([random.random((count, 2)), random.standard_normal((count, 2))])


def _pixels(of: Columns, plane: int, geometry: Geometry) -> Columns:
    x, y, draws = of["x"], of["y"], of["draws"]
    sigma = geometry.velo.resolution
    width = crowd.erring(np.full(len(x), sigma), crowd.VELO, of["choice"])
    if plane in geometry.pieces:
        pieces = geometry.pieces[plane]
        sensor = pieces.at(x, y)
        u, v = pieces.local(sensor, x, y)
        x, y, z = pieces.points(sensor, u + width * draws[:, 2], v + width * draws[:, 3])
    else:
        frame = geometry.frames[plane]
        u, v = frame.local(x, y)
        x, y, z = frame.points(u + width * draws[:, 2], v + width * draws[:, 3])
    return {"x": x, "y": y, "z": z, "sigma": np.full(len(x), sigma)}


def _strips(of: Columns, plane: int, geometry: Geometry) -> Columns:
    x, y, draws = of["x"], of["y"], of["draws"]
    frame, slope = geometry.frames[plane], geometry.strip_slope(plane)
    u, v = frame.local(x, y)
    if plane in UT_PLANES:
        sigma = believed = _ut_sigma(u, v, geometry)
        middle = (ut_row(v) + 0.5) * UT_STRIP_LENGTH
    else:
        scifi = geometry.scifi
        size = np.searchsorted(np.cumsum(scifi.cluster_fractions), draws[:, 1], "right")
        size = np.minimum(size, len(scifi.cluster_errors) - 1)
        sigma, believed = np.array(scifi.cluster_errors)[size], np.array(scifi.hit_errors)[size]
        sigma = crowd.erring(sigma, crowd.SCIFI, of["choice"])
        half_height = scifi.layers[plane - SCIFI_PLANES.start].half_height
        middle = np.where(v > 0, 0.5, -0.5) * half_height
    if plane in geometry.pieces:
        pieces = geometry.pieces[plane]
        piece = pieces.at(x, y)
        x, z, dxdy, dzdy = pieces.lines(piece, pieces.local(piece, x, y)[0])
        x = x + sigma * draws[:, 2]
    else:
        x, z, dxdy, dzdy = frame.lines(u - slope * v + sigma * draws[:, 2], slope)
    return {"x": x, "y": middle, "z": z, "dxdy": dxdy, "dzdy": dzdy, "sigma": believed}


def _ut_sigma(u: NDArray[Any], v: NDArray[Any], geometry: Geometry) -> NDArray[Any]:
    sigma = np.full(len(u), geometry.ut.zones[-1].sigma)
    for zone in reversed(geometry.ut.zones):
        sigma[(np.abs(u) < zone.half_width) & (np.abs(v) < zone.half_height)] = zone.sigma
    return sigma
