"""Training of the steps inside the magnet: the maps of each slice, from tracks that Runge-Kutta carries.

The states behind a slice are nearly linear in its maps, so two Gauss-Newton steps of least squares find them.
Every track counts in both directions, over the whole slice and up to its middle. Its residuals count in units
of what the field does to it, as in the fit of the magnet table.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.linalg import solveh_banded
from threadpoolctl import threadpool_limits

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport import propagate, track_through
from parkf.model.codegen.numpy_step import numpy_function
from parkf.model.steps import slices
from parkf.model.steps.slices import CELLS, EDGES, MAPS, NODES, SLICES, Z_FIRST, Z_LAST
from parkf.model.steps.symbols import COMPONENTS, h, tx, ty, x, y
from parkf.params.manifest import Scatterer
from parkf.params.slices import MagnetSlices
from parkf.simulation.particles import MASSES, PION
from parkf.training.births import BIRTHS, births

F64 = NDArray[np.float64]

TRACKS = 16_000
TOLERANCE = 1e-5  # mm, of a Runge-Kutta step
# Tracks farther out would only determine the borders of the grid; mm, and steepest slope.
EDGE, STEEPEST = (2900.0, 2550.0), 1.2
# Relative to the mean diagonal of the normal equations: determines nodes that hardly any track comes near.
RIDGE = 1e-7
# Pions whose losses are measured: their number, momenta (MeV, uniform in log p) and pseudorapidities.
LOSSES, LOSS_P, LOSS_ETA = 20_000, (3e3, 50e3), (2.0, 5.0)
STAVES = 10.0  # mm; no UT hit is farther from its layer's z
# MeV: Highland's width of a scattering angle (Lynch and Dahl, NIM B 58 (1991) 6), times momentum.
HIGHLAND, HIGHLAND_LOG = 13.6, 0.038

_STATE = (x, y, tx, ty, h)
_HOP = (slices.length, slices.begin, slices.end, slices.centre)
# What outputs depend on linearly: the maps, and the derivatives of the second one.
_LINEAR = (*slices.FIELDS, slices.gy_x, slices.gy_y)


def _compiled(forms: list[sp.Expr]) -> Callable[..., list[Any]]:
    arguments = (*_STATE, *_HOP, *slices.FIELDS, *slices.SLOPES)
    return numpy_function(arguments, forms, cse=True)


@cache
def _formulas() -> tuple[Callable[..., list[Any]], ...]:
    """Return NumPy functions of the place in the middle, of the outputs, and of their gradients."""
    outputs = [slices.OUTPUTS[name] for name in COMPONENTS]
    gradients = [sp.diff(form, v) for form in outputs for v in _LINEAR]
    return _compiled(list(slices.MIDDLE)), _compiled(outputs), _compiled(gradients)


def train_slices(
    field: FieldMap, geometry: Geometry, *, seed: int, tracks: int = TRACKS, threads: int | None = None
) -> MagnetSlices:
    """Fit the maps of all slices to Runge-Kutta in `field`; the material of `geometry` scatters.

    `tracks` is the number of tracks, which depend on `seed` alone. The result does not depend on `threads`,
    by default all cores.
    """
    planes = np.linspace(Z_FIRST, Z_LAST, 2 * SLICES + 1)
    states = _tracks(field, planes, seed=seed, count=tracks, threads=threads)
    numbers, centre = np.zeros((SLICES, len(MAPS), *NODES)), np.zeros(SLICES)
    # Sums of the normal equations must not depend on the number of threads.
    with threadpool_limits(1):
        for i in range(SLICES):
            slice_ = slice(2 * i, 2 * i + 3)
            there = np.isfinite(states[slice_]).all(axis=(0, 2))
            numbers[i], centre[i] = _fit(states[slice_, there], planes[slice_])
    losses = mean_losses(field, geometry, seed=seed, threads=threads)
    return MagnetSlices.of(numbers, centre, scatterers(geometry), losses)


def mean_losses(
    field: FieldMap, geometry: Geometry, *, seed: int, threads: int | None = None
) -> tuple[float, float]:
    """Return the median loss of momentum, MeV, of pions before the first layer of the UT and of the SciFi.

    The steps of a fit count q/p at the production of a long track. With these losses, a track that begins in
    such a layer has its momentum there.
    """
    random = np.random.Generator(np.random.Philox(key=[seed, 3]))
    flat = random.uniform(size=(LOSSES, 4))
    p = np.exp(np.log(LOSS_P[0]) + flat[:, 0] * np.log(LOSS_P[1] / LOSS_P[0]))
    slope, phi = 1 / np.sinh(LOSS_ETA[0] + flat[:, 1] * np.ptp(LOSS_ETA)), 2 * np.pi * flat[:, 2]
    line = slope[:, None] * np.stack([np.cos(phi), np.sin(phi)], axis=1)
    pions = pions_from_origin(np.where(flat[:, 3] < 0.5, -p, p), line)
    states = track_through(field, +1, geometry, pions, seed=seed, threads=threads)
    lost = p[states["particle"]] - states["p"]
    at_ut, at_scifi = (
        float(np.median(lost[states["plane"] == planes.start])) for planes in (UT_PLANES, SCIFI_PLANES)
    )
    return at_ut, at_scifi


def pions_from_origin(p: F64, line: F64) -> dict[str, NDArray[Any]]:
    """Return particles for :func:`parkf.detector.transport.track_through`.

    `p` (n,) are momenta with the charge's sign, MeV, and `line` (n, 2) are slopes.
    """
    count = len(p)
    pz, zero = np.abs(p) / np.sqrt(1 + (line**2).sum(axis=1)), np.zeros(count)
    return {
        **{"event": np.zeros(count, np.int32), "particle": np.arange(count), "charge": np.sign(p)},
        **{"mass": np.full(count, MASSES[PION]), "x": zero, "y": zero, "z": zero},
        **{"px": line[:, 0] * pz, "py": line[:, 1] * pz, "pz": pz, "z_end": np.full(count, np.inf)},
    }


def scatterers(geometry: Geometry) -> tuple[Scatterer, ...]:
    """Return the layers of material between the ends of the slices, with the widths of their scattering.

    They are slabs, both halves of each UT layer, and the front half of the first SciFi layer: tracks begin in
    the middle of a layer's material. The VELO is no such layer. The logarithm in Highland's formula is that
    of all layers behind the UT together, since it corrects the whole path.
    """
    description = geometry.description
    lengths = {name: material.radiation_length for name, material in description.materials.items()}
    found = [
        (slab.z, slab.thickness / lengths[slab.material], slab.opening)
        for slab in description.slabs
        if Z_FIRST < slab.z < Z_LAST
    ]
    ut = description.ut
    # Staves lie in front of their layer or behind it.
    found += [
        (layer.z + side * STAVES, 0.5 * ut.thickness / lengths[ut.material], 0.0)
        for layer in ut.layers
        for side in (-1, 1)
    ]
    scifi, first = description.scifi, description.scifi.layers[0]
    # The layer leans, and its material counts for tracks that begin anywhere in it.
    front = first.z - scifi.dzdy * first.half_height - 1.0
    found.append((front, 0.5 * scifi.thickness / lengths[scifi.material], scifi.hole.half_width))
    whole = 1 + HIGHLAND_LOG * np.log(sum(path for z, path, _ in found if z > BIRTHS[0]))
    return tuple(
        Scatterer(z=z, angle=float(HIGHLAND * np.sqrt(path) * whole), opening=opening)
        for z, path, opening in sorted(found)
    )


def _tracks(field: FieldMap, planes: F64, *, seed: int, count: int, threads: int | None) -> F64:
    """Return states (planes, tracks, 5) of x, y, tx, ty, q/p in MagUp; NaN where there is no track."""
    states, born = births(count, seed=seed)
    z, alive = born.copy(), np.ones(count, dtype=bool)
    result = np.full((len(planes), count, 5), np.nan)
    for i, end in enumerate(planes):
        rows = np.flatnonzero(alive & (born < end))
        there = propagate(
            field, +1, states[rows], z[rows], (end, 0.0, 0.0), tolerance=TOLERANCE, threads=threads
        )
        limits = np.minimum(EDGE, np.array(EDGES) * end)
        with np.errstate(invalid="ignore"):
            kept = there.ok & np.all(np.abs(there.states[:, :2]) < limits, axis=1)
            kept &= np.abs(there.states[:, 2]) < STEEPEST
        alive[rows[~kept]] = False
        states[rows[kept]], z[rows[kept]] = there.states[kept], end
        result[i, rows[kept]] = there.states[kept]
    return result


# Hops that a slice is fitted to: numbers of the planes, and the places −½ to ½, of start and target.
_HOPS = ((0, 2, -0.5, 0.5), (2, 0, 0.5, -0.5), (0, 1, -0.5, 0.0), (2, 1, 0.5, 0.0))
# Nodes of a cell, counted from its first one; the maps at these nodes, which a track in the cell determines,
# as numbers of unknowns; and where their products are in the band of the normal equations.
_NODES = (np.arange(3)[:, None] * NODES[1] + np.arange(3)).ravel()
_UNKNOWNS = (_NODES[:, None] * len(MAPS) + np.arange(len(MAPS))).ravel()
_LOWER = np.tril_indices(len(_UNKNOWNS))
_COLUMN = _UNKNOWNS[_LOWER[1]]
_BELOW = _UNKNOWNS[_LOWER[0]] - _COLUMN
_REACH = int(_BELOW.max()) + 1


def _fit(states: F64, planes: F64) -> tuple[F64, float]:
    """Return the maps (maps, *NODES) of a slice, and its bend in the centre, MeV/mm.

    `states` (3, n, 5) are those at the `planes` (3,), mm: at the ends of the slice and in its middle. The
    first Gauss-Newton step only leads to where the second one begins: the hops through the whole slice are
    enough for it.
    """
    numbers, centre = np.zeros((len(MAPS), *NODES)), 0.0
    length = float(planes[2] - planes[0])
    # The bend is the mean of the first map at its four central nodes.
    i, j = NODES[0] // 2, NODES[1] // 2
    for hops in (_HOPS[:2], _HOPS):
        # Maps run fastest. The band has the lower half of the normal equations.
        band, right = np.zeros((_REACH, numbers.size)), np.zeros(numbers.size)
        for start, target, begin, end in hops:
            hop = (length, begin, end, centre)
            for node, design, residual in _rows(
                states[start], states[target], hop, float(planes[1]), numbers
            ):
                first = node * len(MAPS)
                band[_BELOW, first + _COLUMN] += (design @ design.T)[_LOWER]
                right[first + _UNKNOWNS] += design @ residual
        band[0] += RIDGE * (band[0] + 1e-12 * band[0].max())
        change = solveh_banded(band, right, overwrite_ab=True, lower=True, check_finite=False)
        numbers += change.reshape(-1, len(MAPS)).T.reshape(numbers.shape)
        centre = float(numbers[0, i - 1 : i + 1, j - 1 : j + 1].mean())
    return numbers, centre


def _rows(
    start: F64, target: F64, hop: tuple[float, ...], z: float, numbers: F64
) -> Iterator[tuple[int, F64, F64]]:
    """Yield, cell by cell, the number of the first node, the design (unknowns, 4·n) and the residuals (4·n).

    Unknowns are those of :data:`_UNKNOWNS`. Design and residuals of a track are divided by its |q/p|. A
    displacement counts as the slope over half a slice.
    """
    nothing = (0.0,) * (len(slices.FIELDS) + len(slices.SLOPES))
    in_middle, outputs, gradients_of = _formulas()
    middle = in_middle(*start.T, *hop, *nothing)
    on_x, on_y = (
        axis(np.broadcast_to(place, len(start)), edge * z, cells)
        for place, edge, cells in zip(middle, EDGES, CELLS, strict=True)
    )
    node = on_x[0] * NODES[1] + on_y[0]
    # Tracks of a cell follow one another.
    order = np.argsort(node, kind="stable")
    node, state = node[order], start[order].T.copy()
    in_x, in_y = ([one[order].T for one in on[1:]] for on in (on_x, on_y))
    weights, by_x, by_y = (
        (a[:, None] * b).reshape(len(_NODES), -1)
        for a, b in ((in_x[0], in_y[0]), (in_x[1], in_y[0]), (in_x[0], in_y[1]))
    )
    # Numbers of the maps at the nodes of each track's cell, (maps, nodes, n).
    here = numbers.reshape(len(MAPS), -1)[:, node + _NODES[:, None]]
    maps = (weights * here).sum(axis=1)
    gradients = [(by * one).sum(axis=0) for one in here[:2] for by in (by_x, by_y)]
    arguments = (*state, *hop, *maps, *gradients)
    scale = np.array([2 / hop[0], 2 / hop[0], 1.0, 1.0])[:, None] / np.abs(state[4])
    residual = (target[order, :4].T - np.array(outputs(*arguments))) * scale
    # By what the outputs depend on, (linear, outputs, n).
    by = np.empty((len(_LINEAR), *residual.shape))
    for i, one in enumerate(gradients_of(*arguments)):
        np.multiply(one, scale[i // len(_LINEAR)], out=by[i % len(_LINEAR), i // len(_LINEAR)])
    for begin, stop in pairwise(np.flatnonzero(np.diff(node, prepend=-1, append=-1))):
        part = np.s_[..., begin:stop]
        design: F64 = weights[part][:, None, None] * by[part][: len(MAPS)]
        design[:, 1] += by_x[part][:, None] * by[-2][part] + by_y[part][:, None] * by[-1][part]
        yield int(node[begin]), design.reshape(len(_UNKNOWNS), -1), np.ravel(residual[part])


def axis(mm: F64, edge: float, cells: int) -> tuple[NDArray[np.int64], F64, F64]:
    """Return the first of three nodes (n,), their weights (n, 3), and the derivatives by mm, (n, 3).

    `mm` (n,) are places on an axis whose `cells` reach from −`edge` to `edge`, mm.
    """
    per_mm = 0.5 * cells / edge
    at = mm * per_mm + 0.5 * cells
    first = np.clip(np.floor(at), 0, cells - 1)
    t = np.clip(at - first, 0, 1)
    weights = np.stack([np.broadcast_to(one, len(t)) for one in _weights(t)], axis=1)
    slopes = np.stack([np.broadcast_to(one, len(t)) for one in _weight_slopes(t)], axis=1)
    return first.astype(np.int64), weights, slopes * per_mm


_weights = numpy_function(slices.t, list(slices.WEIGHTS))
_weight_slopes = numpy_function(slices.t, [sp.diff(one, slices.t) for one in slices.WEIGHTS])
