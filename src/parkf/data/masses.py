"""Masses of pairs of tracks without truth: the field's scale and shape and the sagitta from them.

A mass changes with the logarithm of each momentum. A field that is stronger by a fraction s makes fitted
momenta smaller by s; one whose strength depends on a track's direction, by s(tx, ty). Layers behind the
magnet that are displaced along x, in proportion to their distance from its middle, change q/p of all tracks
by the same number, so that momenta of positive and negative tracks become wrong in opposite ways: the charge
asymmetry of the masses measures this.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from iminuit import Minuit
from numpy.typing import NDArray
from scipy.special import ndtr

from parkf.data.equations import Equations, Floats, Solution
from parkf.data.moving import Moving
from parkf.data.quantities import usable
from parkf.data.tracks import Events, read_tracks
from parkf.fit import fit
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.io.errors import ParkfError
from parkf.params.parameter_set import ParameterSet
from parkf.proof.validation.masses import CLOSEST, MASSES, RANGE
from parkf.simulation.generate.decays import DECAYS

NAMES = ("field scale", "field shape in tx", "field shape in ty", "sagitta")
"""Parameters: the field's strength minus one, its change at |tx| = 0.1 and at |ty| = 0.1, and the change of
q/p, in 1/TeV, of MagUp tracks (of MagDown tracks, minus this)."""
SLOPE = 0.1
"""Slope at which the field's shape is given; it grows with the square of the slope."""
_DAUGHTERS = {"jpsi": (13, 13), "d0": (321, 211)}
_FEWEST = 100
_TEV = 1e-6  # 1/MeV
_SURE = 3.0  # errors of a shape of the field that is applied

Rows = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows of the positive and of the negative tracks of pairs."""


def read_pairs(pairs: Sequence[tuple[str, Path]]) -> dict[str, tuple[Events, Candidates]]:
    """Read candidates of decays, with their events; several files of a decay are other events."""
    decays = dict.fromkeys(decay for decay, _ in pairs)
    return {decay: read_tracks([path for one, path in pairs if one == decay]) for decay in decays}


def measure_decays(
    parameters: ParameterSet, pairs: Mapping[str, tuple[Events, Candidates]], moving: Moving | None = None
) -> dict[str, Solution]:
    """Return the numbers that the masses of each decay show, of hits where `moving` has them."""
    found = {}
    for decay, (event, tracks) in pairs.items():
        there = tracks if moving is None else moving(tracks)
        found[decay] = measure_momenta(decay, event, there, fit(parameters, there))
    return found


def measure_momenta(decay: str, event: Events, tracks: Candidates, fitted: Fitted) -> Solution:
    """Fit the four numbers of :data:`NAMES` to the pairs of a sample.

    The masses have a double Gaussian about the decay's mass, moved by each pair's own slopes. Fewer than 100
    pairs raise a ParkfError.
    """
    pairs = _find_pairs(decay, event, tracks, fitted)
    mass = DECAYS[decay].mass
    # PDG ids of the positive and of the negative track, in all ways: the way that is closest to the mass.
    ways = dict.fromkeys([_DAUGHTERS[decay], _DAUGHTERS[decay][::-1]])
    masses = np.array([_energies(fitted, pairs, of)[2] for of in ways])
    best = np.argmin(np.abs(masses - mass), axis=0)
    values = masses[best, np.arange(masses.shape[1])]
    slopes = np.choose(best[:, None], [_slopes(tracks, fitted, pairs, of) for of in ways])
    inside = np.abs(values / mass - 1) < RANGE
    if inside.sum() < _FEWEST:
        raise ParkfError(
            f"pairs: {int(inside.sum())} pairs within {RANGE:.0%} of the mass of {decay}, expected at least"
            f" {_FEWEST}; give more"
        )
    return _fitted(values[inside] - mass, slopes[inside], RANGE * mass)


def _find_pairs(decay: str, event: Events, tracks: Candidates, fitted: Fitted) -> Rows:
    line = DECAYS[decay]
    p = 1 / np.abs(fitted.qop)
    pt = p * np.hypot(fitted.tx, fitted.ty) / np.sqrt(1 + fitted.tx**2 + fitted.ty**2)
    rows = np.flatnonzero(usable(fitted) & (p > line.p_min) & (pt > line.pt_min))
    # A particle found twice counts once.
    _, first = np.unique(
        np.stack([event[rows], tracks.velo[0][rows, 0], fitted.qop[rows] > 0]), axis=1, return_index=True
    )
    rows = rows[np.sort(first)]
    plus, minus = rows[fitted.qop[rows] > 0], rows[fitted.qop[rows] < 0]
    order = np.argsort(event[minus], kind="stable")
    begin, end = (np.searchsorted(event[minus][order], event[plus], side) for side in ("left", "right"))
    count = end - begin
    a = np.repeat(plus, count)
    b = minus[order][np.repeat(begin - np.cumsum(count) + count, count) + np.arange(count.sum())]
    # Closest approach of the two straight lines, mm.
    across = np.cross(_direction(fitted, a), _direction(fitted, b))
    between = np.column_stack([(getattr(fitted, n)[a] - getattr(fitted, n)[b]) for n in "xyz"])
    distance = np.abs((between * across).sum(1)) / np.maximum(np.linalg.norm(across, axis=1), 1e-12)
    total = _momentum(fitted, a) + _momentum(fitted, b)
    near = (distance < CLOSEST) & (np.hypot(total[:, 0], total[:, 1]) >= line.pair_pt_min)
    return a[near], b[near]


def _direction(fitted: Fitted, rows: NDArray[np.int64]) -> Floats:
    tx, ty = fitted.tx[rows].astype(np.float64), fitted.ty[rows].astype(np.float64)
    return np.column_stack([tx, ty, np.ones_like(tx)]) / np.sqrt(1 + tx**2 + ty**2)[:, None]


def _momentum(fitted: Fitted, rows: NDArray[np.int64]) -> Floats:
    """Return momenta (n, 3) of some fits, MeV."""
    return np.asarray(_direction(fitted, rows) / np.abs(fitted.qop[rows].astype(np.float64))[:, None])


def _energies(fitted: Fitted, pairs: Rows, of: tuple[int, int]) -> tuple[list[Floats], list[Floats], Floats]:
    """Momenta (n, 3) and energies (n,) of both tracks of pairs as particles of two PDG ids, and masses."""
    momenta = [_momentum(fitted, rows) for rows in pairs]
    energies = [np.sqrt((p**2).sum(1) + MASSES[n] ** 2) for p, n in zip(momenta, of, strict=True)]
    return momenta, energies, np.sqrt(np.add(*energies) ** 2 - (np.add(*momenta) ** 2).sum(1))


def _slopes(tracks: Candidates, fitted: Fitted, pairs: Rows, of: tuple[int, int]) -> Floats:
    """Return the derivatives of the masses with respect to the four parameters, (n, 4), MeV."""
    momenta, energies, masses = _energies(fitted, pairs, of)
    slopes = np.zeros((len(masses), len(NAMES)))
    for rows, p, energy in zip(pairs, momenta, energies, strict=True):
        # ∂m/∂ln p of this track.
        by_p = (np.add(*energies) * (p**2).sum(1) / energy - (np.add(*momenta) * p).sum(1)) / masses
        tx, ty, qop = (np.asarray(getattr(fitted, name)[rows], np.float64) for name in ("tx", "ty", "qop"))
        turned = _TEV * tracks.polarity[rows] / qop
        slopes -= by_p[:, None] * np.column_stack(
            [np.ones_like(tx), (tx / SLOPE) ** 2, (ty / SLOPE) ** 2, turned]
        )
    return slopes


def _fitted(values: Floats, slopes: Floats, limit: float) -> Solution:
    """Fit masses minus the decay's, (n,), MeV, within ± `limit`."""
    low, high = np.quantile(values, (0.1587, 0.8413))
    start = (high - low) / 2

    def nll(numbers: Floats) -> float:
        *parameters, narrow, ratio, share = numbers
        centre = slopes @ np.asarray(parameters)

        def density(sigma: float) -> Floats:
            inside = ndtr((limit - centre) / sigma) - ndtr((-limit - centre) / sigma)
            return np.exp(-0.5 * ((values - centre) / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma * inside)

        both = share * density(narrow) + (1 - share) * density(narrow * ratio)
        return float(-np.log(np.maximum(both, np.finfo(np.float64).tiny)).sum())

    count = slopes.shape[1]
    minuit = Minuit(nll, np.array([0.0] * count + [0.8 * start, 2.0, 0.7]))
    minuit.errordef = Minuit.LIKELIHOOD
    minuit.errors = [1e-3, 1e-3, 1e-3, 1e-2, 0.1 * start, 0.2, 0.1]
    minuit.limits = [*[(None, None)] * count, (0.1 * start, 3 * start), (1.0, 6.0), (0.05, 1.0)]
    minuit.migrad()
    # With the shape of the peak fixed, as for its mean: one that is a single Gaussian does not determine it.
    minuit.fixed[count:] = True
    minuit.hesse()
    covariance: Any = minuit.covariance
    return Solution(NAMES, np.array(minuit.values)[:count], np.array(covariance)[:count, :count])


def combined(found: Sequence[Solution], none: Sequence[int] = ()) -> Solution:
    """Return the mean of measurements of the same numbers by their covariances, with some numbers 0."""
    equations = Equations(found[0].names)
    one = np.eye(len(equations.names))
    for each in found:
        equations.add(one, np.asarray(np.linalg.inv(each.covariance), np.float64), each.value)
    return equations.solve(fixed=one[list(none)])


def strength_of(measured: Solution) -> dict[str, Floats]:
    """Return the ``change`` of scale and shapes, (3,), that the four numbers ask for, and its ``error``.

    A shape that is within three errors of none is none; the scale is then what the numbers say without it.
    """
    value, error = measured.value, measured.error
    none = [n for n in (1, 2) if np.abs(value[n]) < _SURE * error[n]]
    without = combined([measured], none)
    error = np.where(np.isin(np.arange(len(value)), none), error, without.error)
    change = np.where(np.isin(np.arange(len(value)), none), 0.0, without.value)
    return {"change": change[:3], "error": error[:3]}
