"""Mass peaks of two-track decays."""

from typing import Any

import numpy as np
import pandas as pd
from iminuit import Minuit
from numpy.typing import NDArray
from scipy.special import ndtr

from parkf.fit.sample import Sample
from parkf.io.errors import ParkfError
from parkf.proof.validation.core import fit_core
from parkf.simulation.generate.decays import Decay

F64 = NDArray[np.float64]

MASSES = {11: 0.51099895, 13: 105.6583755, 211: 139.57039, 321: 493.677, 2212: 938.27209}
"""MeV, by PDG id."""

CLOSEST = 0.2  # mm; the trigger's lines require two tracks to approach each other that closely
RANGE = 0.05  # of the mass; the peak is fitted that far to either side
_ENOUGH = 100
_BINS = 60
_OF_A_TRACK = ["file", "event", "pdg_id", "x", "y", "z", "tx", "ty", "qop", "true_tx", "true_ty", "true_qop"]


def measure_peak(sample: Sample, decay: Decay) -> dict[str, Any]:
    """Fit the mass peak of the pairs in a signal sample that the trigger's line accepts.

    Every event is one decay. The result has the figures of :func:`fit_peak`, and ``histogram.{edges,
    content}`` (MeV, pairs). ``parts.{momenta, directions}`` (MeV) are the core widths due to the errors of
    either alone. Fewer than 100 pairs raise a ParkfError.
    """
    mass = decay.mass
    pairs = find_pairs(sample, decay)
    masses = invariant_masses(pairs)
    inside = np.abs(masses / mass - 1) < RANGE
    masses = masses[inside]
    if len(masses) < _ENOUGH:
        raise ParkfError(
            f"masses: {len(masses)} pairs, expected at least {_ENOUGH}; raise signals.collisions"
        )
    content, edges = np.histogram(masses, np.linspace(mass * (1 - RANGE), mass * (1 + RANGE), _BINS + 1))
    pairs = pairs[inside]
    true = invariant_masses(pairs, momenta="true_", directions="true_")
    parts = {
        "momenta": fit_core(invariant_masses(pairs, directions="true_") - true).width,
        "directions": fit_core(invariant_masses(pairs, momenta="true_") - true).width,
    }
    histogram = {"edges": edges.tolist(), "content": content.tolist()}
    return {**fit_peak(masses, mass), "parts": parts, "histogram": histogram}


def find_pairs(sample: Sample, decay: Decay) -> pd.DataFrame:
    """Find pairs of genuine, well fitted tracks of opposite charge that the trigger's line accepts.

    Columns are the fitted and true states and the particles, with ``_a`` (positive) and ``_b``.
    """
    genuine = sample.good
    genuine = genuine[np.isin(np.abs(genuine["pdg_id"]), list(MASSES))]
    rows = pd.DataFrame({name: np.asarray(genuine[name]) for name in _OF_A_TRACK})
    # A particle found twice counts once.
    rows = rows.drop_duplicates(["file", "event", "true_qop"])
    positive, negative = rows[rows.qop > 0], rows[rows.qop < 0]
    pairs = positive.merge(negative, on=["event", "file"], suffixes=("_a", "_b"))
    pairs = pairs[_distance(pairs) < CLOSEST]
    momenta = [_momentum(pairs, suffix) for suffix in ("_a", "_b")]
    accepted = _across(momenta[0] + momenta[1]) >= decay.pair_pt_min
    for p in momenta:
        accepted &= (np.linalg.norm(p, axis=1) >= decay.p_min) & (_across(p) >= decay.pt_min)
    return pairs[accepted]


def invariant_masses(pairs: pd.DataFrame, *, momenta: str = "", directions: str = "") -> F64:
    """Invariant masses (n,) in MeV of pairs, with the particles' own masses.

    Both tracks are evaluated at the middle of their closest approach, with their fitted directions.
    `momenta` and `directions` are prefixes of columns; with ``true_`` the true values are used.
    """
    energy, momentum = np.zeros(len(pairs)), np.zeros((len(pairs), 3))
    for suffix in ("_a", "_b"):
        p = _momentum(pairs, suffix, momenta, directions)
        mass = pairs[f"pdg_id{suffix}"].abs().map(MASSES).to_numpy(np.float64)
        energy += np.sqrt((p**2).sum(1) + mass**2)
        momentum += p
    return np.sqrt(energy**2 - (momentum**2).sum(1))


def fit_peak(masses: F64, guess: float) -> dict[str, float]:
    """Fit a double Gaussian with one mean by maximum likelihood, in the range of :data:`RANGE` about `guess`.

    The result has the ``mean``, the ``width`` √(f·σ₁² + (1 − f)·σ₂²), their errors, σ₁ and σ₂ as ``narrow``
    and ``wide`` (all in MeV), f as ``share``, and ``n``, the number of masses.
    """
    low, high = guess * (1 - RANGE), guess * (1 + RANGE)
    quantiles = np.quantile(masses, (0.1587, 0.5, 0.8413))
    start = (quantiles[2] - quantiles[0]) / 2

    def density(mean: float, sigma: float) -> F64:
        inside = ndtr((high - mean) / sigma) - ndtr((low - mean) / sigma)
        u = (masses - mean) / sigma
        return np.exp(-0.5 * u**2) / (np.sqrt(2 * np.pi) * sigma * inside)

    def nll(mean: float, narrow: float, ratio: float, share: float) -> float:
        both = share * density(mean, narrow) + (1 - share) * density(mean, narrow * ratio)
        # The search may reach values far from all entries, where the density underflows.
        return float(-np.log(np.maximum(both, np.finfo(np.float64).tiny)).sum())

    minuit = Minuit(nll, mean=quantiles[1], narrow=0.8 * start, ratio=2.0, share=0.7)
    minuit.errordef = Minuit.LIKELIHOOD
    minuit.limits = [(low, high), (0.1 * start, 3 * start), (1.0, 6.0), (0.05, 1.0)]
    minuit.migrad()
    # The error of the mean holds for this shape, with all else fixed. If one Gaussian describes the peak, the
    # shape is undetermined, and its covariance with the mean is meaningless.
    minuit.fixed[1:] = True
    minuit.hesse()
    mean, narrow, ratio, share = minuit.values
    width = float(narrow * np.sqrt(share + (1 - share) * ratio**2))
    # The error of the width is that of one Gaussian, because near the limits of the shape parameters
    # correlations make linear error propagation meaningless.
    figures = {"mean": mean, "mean_error": minuit.errors["mean"], "width": width}
    figures |= {"width_error": width / (2 * len(masses)) ** 0.5, "narrow": narrow, "wide": narrow * ratio}
    return {**figures, "share": share, "n": len(masses)}


def _across(momentum: F64) -> F64:
    """Transverse momentum, (n,)."""
    return np.hypot(momentum[:, 0], momentum[:, 1])


def _momentum(pairs: pd.DataFrame, suffix: str, momenta: str = "", directions: str = "") -> F64:
    p = 1 / np.abs(pairs[f"{momenta}qop{suffix}"].to_numpy(np.float64))
    return _direction(pairs, suffix, directions) * p[:, None]


def _direction(pairs: pd.DataFrame, suffix: str, prefix: str = "") -> F64:
    slopes = [pairs[f"{prefix}{name}{suffix}"].to_numpy(np.float64) for name in ("tx", "ty")]
    direction = np.column_stack([*slopes, np.ones(len(pairs))])
    return direction / np.linalg.norm(direction, axis=1, keepdims=True)


def _distance(pairs: pd.DataFrame) -> F64:
    """Closest approach of the two lines, mm."""
    across = np.cross(_direction(pairs, "_a"), _direction(pairs, "_b"))
    between = np.column_stack(
        [(pairs[f"{name}_a"] - pairs[f"{name}_b"]).to_numpy(np.float64) for name in "xyz"]
    )
    length = np.maximum(np.linalg.norm(across, axis=1), 1e-12)
    return np.abs((between * across).sum(1)) / length
