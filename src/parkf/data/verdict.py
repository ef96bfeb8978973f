"""The verdict on a sample: which changes of the detector explain it, with sizes and errors.

The means of the quantities are compared with the reference's. A change is accepted if it improves the χ² of
the means beyond what chance does among all changes that are tried; then the others are tried beside it. The
family-wise rate of false alarms is `ALPHA` for a sample that the reference describes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import norm

from parkf.data.changes import Change
from parkf.data.equations import Floats, Solution, whitener
from parkf.data.reference import Reference

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

    def as_json(self) -> dict[str, Any]:
        """Numbers, and the change's name and kind."""
        return {
            **{"what": self.change.name, "kind": self.change.kind, "unit": self.change.unit},
            **{"size": self.size, "error": self.error, "significance": abs(self.size) / self.error},
        }


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
        return {
            "verdict": "fits" if self.fits else "changed" if self.known else "not this geometry",
            "sentences": self.sentences(),
            "found": [one.as_json() for one in self.found],
            **{"chi2": self.chi2, "ndof": self.ndof, "chi2_left": self.left},
            **{"probability": self.probability, "false_alarm_rate": ALPHA},
        }


def judge(reference: Reference, mean: Floats, count: int) -> Verdict:
    """Compare the mean of the quantities (k,) of `count` usable candidates with a reference."""
    whiten = whitener(reference.error(count))
    seen = whiten @ (mean - reference.mean)
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
            slopes = reference.response[chosen] + 2 * reference.curvature[chosen] * sizes[:, None]
            basis = np.linalg.qr(whiten @ slopes.T)[0]
            directions = directions - directions @ basis @ basis.T
        norms = np.linalg.norm(directions, axis=1)
        usable = norms > 1e-3 * np.linalg.norm(all_directions, axis=1)
        usable[chosen] = False
        z = np.where(usable, directions @ left / np.where(usable, norms, 1), 0)
        best = int(np.argmax(np.abs(z)))
        if abs(z[best]) < limit:
            break
        chosen = [*chosen, best]
        fitted, left = fit_sizes(reference, whiten, seen, chosen, [*sizes, z[best] / norms[best]])
        sizes, errors = fitted.value, fitted.error
    rows = zip(chosen, sizes.tolist(), errors.tolist(), strict=True)
    found = [Found(reference.changes[n], size, error) for n, size, error in rows]
    notable = [one for one in found if abs(one.size) > one.change.tolerance]
    rest = float(left @ left)
    # Without a single change, the means may still be wrong together.
    probability = float(chi2_distribution.sf(chi2, ndof))
    placed = all(abs(one.size) < _MISALIGNMENT for one in notable if one.change.unit)
    known = placed and len(chosen) < _MOST and (rest < 2 * ndof or rest < (1 - _EXPLAINED) * chi2)
    fits = not notable and (probability > 0.5 * ALPHA or bool(found))
    return Verdict(fits, notable, chi2, ndof, rest, probability, known or fits)


def fit_sizes(
    reference: Reference, whiten: Floats, seen: Floats, numbers: Sequence[int], start: Sequence[float]
) -> tuple[Solution, Floats]:
    """Fit the sizes of some changes; return them, and what is left of `seen`.

    `seen` (m,) are the means of a sample minus the reference's, by the matrix `whiten` of their whitener. A
    mean is a parabola in each size, and sizes have bounds.
    """
    changes = [reference.changes[n] for n in numbers]
    response, curvature = (whiten @ of[numbers].T for of in (reference.response, reference.curvature))

    def left(sizes: Floats) -> Floats:
        return np.asarray(seen - response @ sizes - curvature @ sizes**2)

    bounds = np.array([_LARGEST[one.kind] for one in changes])
    fit = least_squares(left, np.clip(start, -0.9 * bounds, 0.9 * bounds), bounds=(-bounds, bounds))
    covariance = np.linalg.inv(fit.jac.T @ fit.jac)
    return Solution([one.name for one in changes], fit.x, covariance), fit.fun
