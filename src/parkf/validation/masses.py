"""Mass peaks of two-track decays."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from iminuit import Minuit
from numpy.typing import NDArray
from scipy.special import ndtr

from parkf.errors import ParkfError
from parkf.validation.sample import Sample

F64 = NDArray[np.float64]

MASSES = {11: 0.51099895, 13: 105.6583755, 211: 139.57039, 321: 493.677, 2212: 938.27209}
"""MeV, by PDG id."""

CLOSEST = 0.5  # mm; two tracks of one vertex come nearer to each other
RANGE = 0.05  # of the mass; the peak is fitted that far to either side
_ENOUGH = 100


_BINS = 60


@dataclass(frozen=True)
class Peak:
    """Double Gaussian with one mean; MeV.

    `width` is the root of the mean variance, √(f·σ₁² + (1 − f)·σ₂²); `narrow` and `wide` are σ₁ and σ₂, and
    `share` is f.
    """

    mean: float
    mean_error: float
    width: float
    width_error: float
    narrow: float
    wide: float
    share: float
    n: int


def measure_peak(sample: Sample, mass: float) -> dict[str, Any]:
    """Fit the mass peak of a sample in which every event is one decay.

    Parameters
    ----------
    sample : Sample
        Candidates of a signal sample.
    mass : float
        About where the peak is, MeV.

    Returns
    -------
    dict
        The fields of :class:`Peak`, and ``histogram.{edges, content}`` (MeV, pairs).

    Raises
    ------
    ParkfError
        With fewer than 100 pairs.
    """
    masses = pair_masses(sample)
    masses = masses[np.abs(masses / mass - 1) < RANGE]
    if len(masses) < _ENOUGH:
        raise ParkfError(
            f"masses: {len(masses)} pairs, expected at least {_ENOUGH}; raise signals.collisions"
        )
    content, edges = np.histogram(masses, np.linspace(mass * (1 - RANGE), mass * (1 + RANGE), _BINS + 1))
    histogram = {"edges": edges.tolist(), "content": content.tolist()}
    return {**asdict(fit_peak(masses, mass)), "histogram": histogram}


def pair_masses(sample: Sample) -> F64:
    """Invariant masses (MeV) of pairs of genuine, well fitted tracks of an event, opposite in charge.

    Both tracks are taken at the middle of their closest approach to each other, where directions are the
    fitted ones, and with their particles' true masses.
    """
    rows = sample.genuine
    rows = rows[(rows.status == 0) & rows.pdg_id.abs().isin(list(MASSES))]
    # A particle found twice counts once.
    rows = rows.drop_duplicates(["file", "event", "true_qop"])
    positive, negative = rows[rows.qop > 0], rows[rows.qop < 0]
    pairs = positive.merge(negative, on=["event", "file"], suffixes=("_a", "_b"))
    pairs = pairs[_distance(pairs) < CLOSEST]
    energy, momentum = np.zeros(len(pairs)), np.zeros((len(pairs), 3))
    for suffix in ("_a", "_b"):
        p = _direction(pairs, suffix) / np.abs(pairs[f"qop{suffix}"].to_numpy(np.float64))[:, None]
        mass = pairs[f"pdg_id{suffix}"].abs().map(MASSES).to_numpy(np.float64)
        energy += np.sqrt((p**2).sum(1) + mass**2)
        momentum += p
    return np.sqrt(energy**2 - (momentum**2).sum(1))


def fit_peak(masses: F64, guess: float) -> Peak:
    """Fit a double Gaussian by maximum likelihood, in the range of :data:`RANGE` about `guess`."""
    low, high = guess * (1 - RANGE), guess * (1 + RANGE)
    quantiles = np.quantile(masses, (0.1587, 0.5, 0.8413))
    start = (quantiles[2] - quantiles[0]) / 2

    def density(mean: float, sigma: float) -> F64:
        inside = ndtr((high - mean) / sigma) - ndtr((low - mean) / sigma)
        u = (masses - mean) / sigma
        return np.exp(-0.5 * u**2) / (np.sqrt(2 * np.pi) * sigma * inside)

    def nll(mean: float, narrow: float, ratio: float, share: float) -> float:
        return float(
            -np.log(share * density(mean, narrow) + (1 - share) * density(mean, narrow * ratio)).sum()
        )

    minuit = Minuit(nll, mean=quantiles[1], narrow=0.8 * start, ratio=2.0, share=0.7)
    minuit.errordef = Minuit.LIKELIHOOD
    minuit.limits["mean"] = (low, high)
    minuit.limits["narrow"] = (0.1 * start, 3 * start)
    minuit.limits["ratio"] = (1.0, 6.0)
    minuit.limits["share"] = (0.05, 1.0)
    minuit.migrad()
    minuit.hesse()
    mean, narrow, ratio, share = minuit.values

    def width(p: F64) -> float:
        return float(p[1] * np.sqrt(p[3] + (1 - p[3]) * p[2] ** 2))

    return Peak(
        mean=mean,
        mean_error=minuit.errors["mean"],
        width=width(np.array(minuit.values)),
        # As of one Gaussian: correlations of the shape make a linear error meaningless near its limits.
        width_error=width(np.array(minuit.values)) / (2 * len(masses)) ** 0.5,
        narrow=narrow,
        wide=narrow * ratio,
        share=share,
        n=len(masses),
    )


def _direction(pairs: pd.DataFrame, suffix: str) -> F64:
    slopes = [pairs[f"{name}{suffix}"].to_numpy(np.float64) for name in ("tx", "ty")]
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
