"""The field's scale and shape, and the sagitta, from the masses of decays to two tracks.

A mass changes with the logarithm of each momentum. A field that is stronger by a fraction s makes fitted
momenta smaller by s; one whose strength depends on a track's direction, by s(tx, ty). Layers behind the
magnet that are displaced along x, in proportion to their distance from its middle, change q/p of all tracks
by the same number, so that momenta of positive and negative tracks become wrong in opposite ways: the charge
asymmetry of the masses measures this.
"""

from typing import Any

import numpy as np
from iminuit import Minuit
from numpy.typing import NDArray
from scipy.special import ndtr

from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.proof.monitoring.peaks import DAUGHTERS, find_pairs, masses_of, momentum_of, near_mass
from parkf.proof.validation.masses import MASSES, RANGE
from parkf.simulation.generate.decays import DECAYS

Floats = NDArray[np.float64]

NAMES = ("field scale", "field shape in tx", "field shape in ty", "sagitta")
"""Parameters: the field's strength minus one, its change at |tx| = 0.1 and at |ty| = 0.1, and the change of
q/p, in 1/TeV, of MagUp tracks (of MagDown tracks, minus this)."""
SLOPE = 0.1
"""Slope at which the field's shape is given; it grows with the square of the slope."""
_TEV = 1e-6  # 1/MeV
_SURE = 3.0  # errors of a shape of the field that is applied


def measure_momenta(decay: str, event: Floats, tracks: Candidates, fitted: Fitted) -> tuple[Floats, Floats]:
    """Fit the four parameters to the pairs of a sample; return values (4,) and covariance (4, 4).

    The masses have a double Gaussian about the decay's mass, moved by each pair's own slopes. Fewer than 100
    pairs raise a ParkfError.
    """
    mass, pairs = DECAYS[decay].mass, find_pairs(decay, event, tracks, fitted)
    ways = [(of, masses_of(fitted, pairs, of, 0.0)) for of in {DAUGHTERS[decay], DAUGHTERS[decay][::-1]}]
    best = np.argmin([np.abs(masses - mass) for _, masses in ways], axis=0)
    values = np.choose(best, [masses for _, masses in ways])
    slopes = np.choose(best[:, None], [_slopes(tracks, fitted, pairs, of, masses) for of, masses in ways])
    inside = near_mass(values, decay)
    return _fitted(values[inside] - mass, slopes[inside], RANGE * mass)


def _slopes(
    tracks: Candidates, fitted: Fitted, pairs: tuple[Any, Any], of: tuple[int, int], masses: Floats
) -> Floats:
    """Return the derivatives of the masses (n,) with respect to the four parameters, (n, 4), MeV."""
    momenta = [momentum_of(fitted, rows, 0.0) for rows in pairs]
    energies = [np.sqrt((p**2).sum(1) + MASSES[n] ** 2) for p, n in zip(momenta, of, strict=True)]
    slopes = np.zeros((len(masses), len(NAMES)))
    for rows, p, energy in zip(pairs, momenta, energies, strict=True):
        # ∂m/∂ln p of this track.
        by_p = (sum(energies) * (p**2).sum(1) / energy - (np.add(*momenta) * p).sum(1)) / masses
        tx, ty, qop = (np.asarray(getattr(fitted, name)[rows], np.float64) for name in ("tx", "ty", "qop"))
        one = np.ones_like(tx)
        turned = _TEV * tracks.polarity[rows] / qop
        slopes -= by_p[:, None] * np.column_stack([one, (tx / SLOPE) ** 2, (ty / SLOPE) ** 2, turned])
    return slopes


def _fitted(values: Floats, slopes: Floats, limit: float) -> tuple[Floats, Floats]:
    """Fit masses minus the decay's, (n,), MeV, within ± `limit`; return parameters and their covariance."""
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
    return np.array(minuit.values)[:count], np.array(covariance)[:count, :count]


def combined(found: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the mean of several measurements by their covariances, and its covariance."""
    weights = [np.linalg.inv(covariance) for _, covariance in found]
    covariance = np.linalg.inv(np.sum(weights, axis=0))
    total = np.sum([weight @ value for weight, (value, _) in zip(weights, found, strict=True)], axis=0)
    return covariance @ total, covariance


def strength_of(values: Floats, covariance: Floats) -> dict[str, Floats]:
    """Return the ``change`` of scale and shapes, (3,), that the four numbers ask for, and its ``error``.

    A shape that is within three errors of none is none; the scale is then what the numbers say without it.
    """
    shapes = np.array([1, 2])
    error = np.sqrt(np.diag(covariance))[:3]
    none = shapes[np.abs(values[shapes]) < _SURE * error[shapes]]
    gain = covariance[:3, none] @ np.linalg.inv(covariance[np.ix_(none, none)])
    change, known = values[:3] - gain @ values[none], covariance[:3, :3] - gain @ covariance[none, :3]
    change[none] = 0.0
    error = np.where(np.isin(np.arange(3), none), error, np.sqrt(np.maximum(np.diag(known), 0.0)))
    return {"change": change, "error": error}
