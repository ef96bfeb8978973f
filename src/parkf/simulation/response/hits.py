"""What the detector makes of true crossings: hits with resolution, inefficiency and noise.

A hit carries the line or point where its own element is, as the geometry in use has it; its error is the
width that it was drawn with, in the SciFi with the error of its place besides.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.tables import HITS
from parkf.simulation.random_numbers import Stream, keyed_generator
from parkf.simulation.response import crowd

UT_STRIP_LENGTH = 97.28
"""mm; UT strips come in rows of this height, so a UT hit knows its y to within a row."""

NOISE_JITTER = 20.0
"""mm; noise lies where the layer's real hits are, turned by 180° about the beam and moved by about this."""

NOISE = -1
"""Number of the particle of a noise hit."""

Columns = dict[str, NDArray[Any]]


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
    # What the crowd adds uses separate random numbers, so that particles have the same hits with and without
    # it.
    on_sensor = np.flatnonzero(states["active"] & _is_sensor(states["plane"]))
    event, plane = states["event"][on_sensor], states["plane"][on_sensor]
    particle = states["particle"][on_sensor]
    x, y = _crossings(states, on_sensor, geometry)
    event, plane, particle, x, y, draws = _with_noise(event, plane, particle, x, y, geometry, seed)

    choice = np.ones(len(event))
    if crowded:
        event, plane, particle, x, y, draws, choice = _with_crowd(
            event, plane, particle, x, y, draws, geometry, seed
        )

    columns: Columns = {name: np.zeros(len(event)) for name in ("x", "y", "z", "dxdy", "dzdy", "sigma")}
    detected = np.zeros(len(event), bool)
    for index in np.unique(plane):
        rows = np.flatnonzero(plane == index)
        measure, efficiency = (
            (_pixels, geometry.velo.efficiency)
            if index in VELO_PLANES
            else (_strips, geometry.ut.efficiency if index in UT_PLANES else geometry.scifi.efficiency)
        )
        detected[rows] = (draws[rows, 0] < efficiency) | (particle[rows] == NOISE)
        for name, values in measure(
            x[rows], y[rows], draws[rows, 1:], choice[rows], int(index), geometry
        ).items():
            columns[name][rows] = values
    columns |= {"event": event, "plane": plane, "particle": particle}
    order = np.lexsort((columns["x"], plane, event))
    order = order[detected[order]]
    columns = {name: columns[name][order].astype(kind.to_pandas_dtype()) for name, kind in HITS.columns}
    return crowd.merge(columns, geometry) if crowded else columns


def ut_row(y: NDArray[Any]) -> NDArray[Any]:
    """Row of UT strips at y, any shape, counted from the beam: 0 is 0 to 97 mm above it."""
    return np.floor(y / UT_STRIP_LENGTH).astype(np.int64)


def _is_sensor(plane: NDArray[Any]) -> NDArray[Any]:
    return (plane < UT_PLANES.stop) | (plane >= SCIFI_PLANES.start)


def _crossings(states: Columns, rows: NDArray[Any], geometry: Geometry) -> tuple[NDArray[Any], NDArray[Any]]:
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


def _with_noise(
    event: NDArray[Any],
    plane: NDArray[Any],
    particle: NDArray[Any],
    x: NDArray[Any],
    y: NDArray[Any],
    geometry: Geometry,
    seed: int,
) -> tuple[NDArray[Any], ...]:
    """Append noise crossings; also give each crossing its four draws: two uniform, two normal."""
    means = np.zeros(SCIFI_PLANES.stop)
    means[VELO_PLANES] = geometry.velo.noise_per_module
    means[UT_PLANES] = geometry.ut.noise_per_layer
    means[SCIFI_PLANES] = geometry.scifi.noise_per_layer
    events, first = np.unique(event, return_index=True)
    parts = []
    for number, begin, end in zip(events, first, np.append(first, len(event))[1:], strict=True):
        random = keyed_generator(seed, int(number), Stream.RESPONSE)
        real = np.arange(begin, end)
        wanted = np.repeat(np.arange(len(means)), random.poisson(means))
        # Noise is placed like the layer's real hits, so a layer without real hits has no noise either.
        by_plane = real[np.argsort(plane[real], kind="stable")]
        low, high = (np.searchsorted(plane[by_plane], wanted, side) for side in ("left", "right"))
        model = np.minimum(low + (random.random(len(wanted)) * (high - low)).astype(int), len(real) - 1)
        source = by_plane[model][high > low]
        jitter = NOISE_JITTER * random.standard_normal((2, len(source)))
        count = len(real) + len(source)
        parts.append(
            (
                np.full(count, number),
                np.concatenate([plane[real], plane[source]]),
                np.concatenate([particle[real], np.full(len(source), NOISE)]),
                np.concatenate([x[real], jitter[0] - x[source]]),
                np.concatenate([y[real], jitter[1] - y[source]]),
                np.column_stack([random.random((count, 2)), random.standard_normal((count, 2))]),
            )
        )
    if not parts:
        return event, plane, particle, x, y, np.zeros((0, 4))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _with_crowd(
    event: NDArray[Any],
    plane: NDArray[Any],
    particle: NDArray[Any],
    x: NDArray[Any],
    y: NDArray[Any],
    draws: NDArray[Any],
    geometry: Geometry,
    seed: int,
) -> tuple[NDArray[Any], ...]:
    """Append crossings of no particle; also give each crossing a draw that decides if it is in a tail."""
    events, first = np.unique(event, return_index=True)
    parts = []
    for number, begin, end in zip(events, first, np.append(first, len(event))[1:], strict=True):
        random = keyed_generator(seed, int(number), Stream.CROWD)
        here = np.arange(begin, end)
        real = here[particle[here] != NOISE]
        others = crowd.strangers(plane[real], x[real], y[real], geometry, random)
        count = sum(len(one.plane) for one in others)
        parts.append(
            (
                np.full(len(here) + count, number),
                np.concatenate([plane[here], *(one.plane for one in others)]),
                np.concatenate([particle[here], np.full(count, NOISE)]),
                np.concatenate([x[here], *(one.x for one in others)]),
                np.concatenate([y[here], *(one.y for one in others)]),
                np.concatenate(
                    [
                        draws[here],
                        np.column_stack([random.random((count, 2)), random.standard_normal((count, 2))]),
                    ]
                ),
                random.random(len(here) + count),
            )
        )
    if not parts:
        return event, plane, particle, x, y, draws, np.ones(0)
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _pixels(
    x: NDArray[Any],
    y: NDArray[Any],
    draws: NDArray[Any],
    choice: NDArray[Any],
    plane: int,
    geometry: Geometry,
) -> Columns:
    sigma = geometry.velo.resolution
    width = crowd.erring(np.full(len(x), sigma), crowd.VELO, choice)
    if plane in geometry.pieces:
        pieces = geometry.pieces[plane]
        sensor = pieces.at(x, y)
        u, v = pieces.local(sensor, x, y)
        x, y, z = pieces.points(sensor, u + width * draws[:, 1], v + width * draws[:, 2])
    else:
        frame = geometry.frames[plane]
        u, v = frame.local(x, y)
        x, y, z = frame.points(u + width * draws[:, 1], v + width * draws[:, 2])
    return {"x": x, "y": y, "z": z, "sigma": np.full(len(x), sigma)}


def _strips(
    x: NDArray[Any],
    y: NDArray[Any],
    draws: NDArray[Any],
    choice: NDArray[Any],
    plane: int,
    geometry: Geometry,
) -> Columns:
    frame, slope = geometry.frames[plane], geometry.strip_slope(plane)
    u, v = frame.local(x, y)
    if plane in UT_PLANES:
        sigma = believed = _ut_sigma(u, v, geometry)
        middle = (ut_row(v) + 0.5) * UT_STRIP_LENGTH
    else:
        scifi = geometry.scifi
        size = np.searchsorted(np.cumsum(scifi.cluster_fractions), draws[:, 0], "right")
        size = np.minimum(size, len(scifi.cluster_errors) - 1)
        sigma, believed = np.array(scifi.cluster_errors)[size], np.array(scifi.hit_errors)[size]
        sigma = crowd.erring(sigma, crowd.SCIFI, choice)
        half_height = scifi.layers[plane - SCIFI_PLANES.start].half_height
        middle = np.where(v > 0, 0.5, -0.5) * half_height
    if plane in geometry.pieces:
        pieces = geometry.pieces[plane]
        piece = pieces.at(x, y)
        x, z, dxdy, dzdy = pieces.lines(piece, pieces.local(piece, x, y)[0])
        x = x + sigma * draws[:, 1]
    else:
        x, z, dxdy, dzdy = frame.lines(u - slope * v + sigma * draws[:, 1], slope)
    return {"x": x, "y": middle, "z": z, "dxdy": dxdy, "dzdy": dzdy, "sigma": believed}


def _ut_sigma(u: NDArray[Any], v: NDArray[Any], geometry: Geometry) -> NDArray[Any]:
    sigma = np.full(len(u), geometry.ut.zones[-1].sigma)
    for zone in reversed(geometry.ut.zones):
        sigma[(np.abs(u) < zone.half_width) & (np.abs(v) < zone.half_height)] = zone.sigma
    return sigma
