"""The verdict on a sample: which changes of the detector explain it, with sizes and errors.

The means of the quantities are compared with the reference's. A change is accepted if it improves the χ² of
the means beyond what chance does among all changes that are tried; then the others are tried beside it. The
family-wise rate of false alarms is `ALPHA` for a sample that the reference describes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import norm

from parkf.proof.monitoring.changes import Change
from parkf.proof.monitoring.quantities import Floats
from parkf.proof.monitoring.reference import Reference

ALPHA = 0.01
"""Rate of false alarms of a verdict, all changes together."""
_MOST = 6  # changes at once; more are another geometry
# Sizes that are looked for: mm, and factors minus one. A misalignment is below 1 mm.
_LARGEST = {"x": 3.0, "y": 3.0, "z": 20.0, "error": 1.0, "noise": 1.0}
_MISALIGNMENT = 1.0
# Share of the deviation, in χ², that the changes named must explain for the geometry to be the set's.
_EXPLAINED = 0.8


@dataclass(frozen=True)
class Found:
    """A change that the data show."""

    change: Change
    size: float  # mm, or factor minus one
    error: float

    def __str__(self) -> str:
        subject = self.change.name[0].upper() + self.change.name[1:]
        if self.change.unit:
            axis, _, element = self.change.name.partition(" of ")
            return f"{element} has moved by {1e3 * self.size:+.1f} ± {1e3 * self.error:.1f} µm in {axis}"
        return f"{subject}: {1 + self.size:.3f} ± {self.error:.3f} times what the set assumes"


@dataclass(frozen=True)
class Verdict:
    """What the means of a sample show."""

    fits: bool
    found: list[Found]
    chi2: float  # of all means against the reference's
    ndof: int
    left: float  # χ² that the changes found leave
    probability: float  # of a larger χ² by chance
    known: bool = True  # whether the changes explain what is seen

    def sentences(self) -> list[str]:
        """Say the verdict in words."""
        if self.fits:
            return ["The set fits: no change of the detector is seen."]
        if not self.known:
            return ["Not this geometry: it is no small change of some of its parts.", *map(str, self.found)]
        if not self.found:
            return [
                f"The candidates differ from the reference (χ² {self.chi2:.0f} for {self.ndof} degrees of"
                f" freedom, {self.probability:.1g} by chance), but no change that is looked for explains it."
            ]
        return [f"{one}." for one in self.found]

    def as_json(self) -> dict[str, Any]:
        """Numbers and words."""
        found = [
            {
                "what": one.change.name,
                "kind": one.change.kind,
                "size": one.size,
                "error": one.error,
                "unit": one.change.unit,
                "significance": abs(one.size) / one.error,
            }
            for one in self.found
        ]
        return {
            "verdict": "fits" if self.fits else "changed" if self.known else "not this geometry",
            "sentences": self.sentences(),
            "found": found,
            "chi2": self.chi2,
            "ndof": self.ndof,
            "chi2_left": self.left,
            "probability": self.probability,
            "false_alarm_rate": ALPHA,
        }


def judge(reference: Reference, mean: Floats, count: int) -> Verdict:
    """Compare the mean of the quantities (k,) of `count` usable candidates with a reference."""
    shift = mean - reference.mean
    whiten = whitener(reference.covariance * (1 / count + 1 / reference.count))
    seen = whiten @ shift
    chi2, ndof = float(seen @ seen), len(whiten)
    # Half of the rate for the single changes, half for everything else.
    limit = float(norm.isf(0.25 * ALPHA / len(reference.changes)))
    all_directions = reference.response @ whiten.T
    chosen: list[int] = []
    sizes, errors, left = np.zeros(0), np.zeros(0), seen
    while len(chosen) < _MOST:
        directions = all_directions
        if chosen:
            # What the changes that were chosen before could explain does not count for another one.
            slopes = [_slope(reference, whiten, n, size) for n, size in zip(chosen, sizes, strict=True)]
            basis = np.linalg.qr(np.array(slopes).T)[0]
            directions = directions - directions @ basis @ basis.T
        norms = np.linalg.norm(directions, axis=1)
        usable = norms > 1e-3 * np.linalg.norm(all_directions, axis=1)
        usable[chosen] = False
        z = np.where(usable, directions @ left / np.where(usable, norms, 1), 0)
        best = int(np.argmax(np.abs(z)))
        if abs(z[best]) < limit:
            break
        tried = [*chosen, best]
        start = [*sizes, z[best] / norms[best]]
        sizes, covariance, left = fit_sizes(reference, whiten, seen, tried, start)
        errors = np.sqrt(np.diag(covariance))
        chosen = tried
    found = [
        Found(reference.changes[n], float(size), float(error))
        for n, size, error in zip(chosen, sizes, errors, strict=True)
    ]
    notable = [one for one in found if abs(one.size) > one.change.tolerance]
    rest = float(left @ left)
    # Without a single change, the means may still be wrong together.
    probability = float(chi2_distribution.sf(chi2, ndof))
    placed = all(abs(one.size) < _MISALIGNMENT for one in notable if one.change.unit)
    known = placed and len(chosen) < _MOST and (rest < 2 * ndof or rest < (1 - _EXPLAINED) * chi2)
    fits = not notable and (probability > 0.5 * ALPHA or bool(found))
    return Verdict(fits, notable, chi2, ndof, rest, probability, known or fits)


def whitener(covariance: Floats) -> Floats:
    """Return the matrix (m, k) that makes this covariance the identity; m leaves out what is constant."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > 1e-7
    return (vectors[:, kept] / np.sqrt(values[kept])).T / scale


def _slope(reference: Reference, whiten: Floats, number: int, size: float) -> Floats:
    slope: Floats = whiten @ (reference.response[number] + 2 * reference.curvature[number] * size)
    return slope


def fit_sizes(
    reference: Reference, whiten: Floats, seen: Floats, numbers: Sequence[int], start: Sequence[float]
) -> tuple[Floats, Floats, Floats]:
    """Fit the sizes of some changes; return sizes, their covariance, and what is left of `seen`.

    `seen` (m,) are the means of a sample minus the reference's, by the matrix of :func:`whitener`.
    """

    def left(sizes: Floats) -> Floats:
        moved = sum(reference.expected(n, s) for n, s in zip(numbers, sizes, strict=True))
        return seen - whiten @ np.asarray(moved)

    bounds = np.array([_LARGEST[reference.changes[n].kind] for n in numbers])
    fit = least_squares(left, np.clip(start, -0.9 * bounds, 0.9 * bounds), bounds=(-bounds, bounds))
    return fit.x, np.linalg.inv(fit.jac.T @ fit.jac), fit.fun


def scale_of(
    peaks: Mapping[str, Mapping[str, float]], reference: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Return the scale of momenta from each mass peak beside the reference's: ``scale``, ``error``.

    `scale` is the fitted momentum over the true one, minus one: a field that is stronger than the set's by a
    fraction s makes it −s.
    """
    found = {}
    for decay, peak in peaks.items():
        if decay in reference:
            of = reference[decay]
            error = np.hypot(peak["mean_error"], of["mean_error"]) / of["by_scale"]
            found[decay] = {"scale": (peak["mean"] - of["mean"]) / of["by_scale"], "error": float(error)}
    return found
