"""How good the steps inside the magnet are: against Runge-Kutta, and against the truth of the simulation.

Both samples are tracks at the first SciFi layer, which are carried upstream. The tracks of the first sample
are born anywhere up to the magnet and cross no material; those of the second are pions from the origin.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.geometry import PLANES, SCIFI_PLANES, Geometry
from parkf.detector.transport import propagate, track_through
from parkf.fit.inside import Carried, carry_inside
from parkf.params.slices import MagnetSlices
from parkf.training.births import BIRTHS
from parkf.training.rows import COMPONENTS
from parkf.training.slices import pions_from_origin
from parkf.training.spread import by_momentum, half_width

F64 = NDArray[np.float64]

# mm; targets of the figures.
TARGETS = (7000.0, 6000.0, 5000.0, 4000.0, 3000.0)
TRACKS = 20_000  # of each sample, before losses
TOLERANCE = 1e-5  # mm, of a Runge-Kutta step
_P = (1500.0, 100e3)  # MeV; uniform in log p
_ETA = (2.0, 5.0)
SPREAD = 100.0  # MeV; of slopes times momentum about the line to the origin
EDGE = (2640.0, 2424.0)  # mm; of the first SciFi layer
# Positions of the variances in the lower triangle of a covariance.
_VARIANCES = (0, 2, 5, 9)


def measure_slices(
    slices: MagnetSlices, field: FieldMap, geometry: Geometry, *, seed: int, threads: int | None = None
) -> dict[str, Any]:
    """Return ``states``, ``pulls`` and ``lost``.

    ``states`` is a list of {z, p_min, p_max (GeV), component, q68, q99 (mm or rad), sigma, n}: quantiles of
    the distance to Runge-Kutta, and the median width of the scattering on the way. ``pulls`` is a list of
    {z, p_min, p_max, component, width, error, n}: half of the range that holds the central 68 % of (true −
    carried)/σ. ``lost`` is the fraction of tracks that leave the grid.
    """
    random = np.random.Generator(np.random.Philox(key=[seed, 1]))
    start = _unscattered(random, field, threads)
    z = geometry.planes()[SCIFI_PLANES.start, 0]
    states, lost = [], []
    for target in TARGETS:
        there = propagate(field, +1, start, z, (target, 0.0, 0.0), tolerance=TOLERANCE, threads=threads)
        carried = carry_inside(slices, start, z, target, +1, threads=threads)
        good = there.ok & carried.ok
        lost.append(float(np.mean(~carried.ok)))
        delta = carried.states[good, :4] - there.states[good, :4]
        sigma = np.sqrt(carried.covariances[good][:, _VARIANCES])
        states += _quantiles(target, start[good, 4], delta, sigma)
    return {
        "states": states,
        "pulls": _pulls(slices, field, geometry, seed, threads),
        "lost": max(lost),
    }


def _directions(random: np.random.Generator) -> tuple[F64, F64]:
    """Draw momenta (MeV, with the charge's sign) and slopes from the origin, (n,) and (n, 2)."""
    flat = random.uniform(size=(TRACKS, 4))
    p = np.exp(np.log(_P[0]) + flat[:, 0] * np.log(_P[1] / _P[0])) * np.where(flat[:, 1] < 0.5, -1, 1)
    slope, phi = 1 / np.sinh(_ETA[0] + flat[:, 2] * (_ETA[1] - _ETA[0])), 2 * np.pi * flat[:, 3]
    return p, slope[:, None] * np.stack([np.cos(phi), np.sin(phi)], axis=1)


def _unscattered(random: np.random.Generator, field: FieldMap, threads: int | None) -> F64:
    """Return states (n, 5) at the first SciFi layer in MagUp, of tracks born up to the magnet."""
    p, line = _directions(random)
    born = BIRTHS[0] * random.uniform(size=TRACKS)
    slopes = line + SPREAD / np.abs(p)[:, None] * random.standard_normal((TRACKS, 2))
    states = np.column_stack([line * born[:, None], slopes, 1 / p])
    end = propagate(field, +1, states, born, (7826.0, 0.0, 0.0), tolerance=TOLERANCE, threads=threads)
    with np.errstate(invalid="ignore"):
        seen = end.ok & np.all(np.abs(end.states[:, :2]) < EDGE, axis=1)
    return np.ascontiguousarray(end.states[seen])


def _quantiles(z: float, qop: F64, delta: F64, sigma: F64) -> list[dict[str, Any]]:
    def figures(mask: NDArray[np.bool_], c: int) -> dict[str, float]:
        off = delta[mask, c]
        width = float(np.median(sigma[mask, c]))
        q68, q99 = half_width(off), half_width(off, 0.99)
        ratios = {"q68_over_sigma": q68 / width, "q99_over_sigma": q99 / width}
        return {"z": z, "q68": q68, "q99": q99, "sigma": width, **ratios}

    return by_momentum(qop, figures)


def _pulls(
    slices: MagnetSlices, field: FieldMap, geometry: Geometry, seed: int, threads: int | None
) -> list[dict[str, Any]]:
    """Compare with true states at the targets."""
    p, line = _directions(np.random.Generator(np.random.Philox(key=[seed, 2])))
    pions = pions_from_origin(p, line)
    states = track_through(field, +1, geometry, pions, seed=seed, between=TARGETS, threads=threads)
    begin = np.flatnonzero(states["plane"] == SCIFI_PLANES.start)
    widths = []
    for plane, z in enumerate(TARGETS, PLANES):
        end = np.flatnonzero(states["plane"] == plane)
        end = end[np.searchsorted(states["particle"][end], states["particle"][begin])]
        # The momentum between target and SciFi, without what is lost in the SciFi layer itself.
        qop = np.sign(p[states["particle"][begin]]) / states["p"][end]
        start = np.column_stack([*(states[name][begin] for name in COMPONENTS), qop])
        carried = carry_inside(slices, start, states["z"][begin], z, +1, threads=threads)
        widths += _widths(z, carried, np.column_stack([states[name][end] for name in COMPONENTS]))
    return widths


def _widths(z: float, carried: Carried, truth: F64) -> list[dict[str, Any]]:
    # In the openings around the beam pipe nothing scatters.
    good = carried.ok & np.all(carried.covariances[:, _VARIANCES] > 0, axis=1)
    qop = carried.states[good, 4]
    pulls = (truth[good] - carried.states[good, :4]) / np.sqrt(carried.covariances[good][:, _VARIANCES])

    def figures(mask: NDArray[np.bool_], c: int) -> dict[str, float]:
        width = float(np.diff(np.quantile(pulls[mask, c], [0.16, 0.84]))[0] / 2)
        # The error is that of half the distance of two quantiles of a normal distribution.
        return {"z": z, "width": width, "error": float(1.05 / np.sqrt(mask.sum()))}

    return by_momentum(qop, figures)
