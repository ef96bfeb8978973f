"""Small systematic differences of a step dataset: a field a little stronger, a plane's z, a shift."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.imports.inspection import Finding, Verdict
from parkf.imports.steps.faults import TURNED
from parkf.imports.steps.rows import Carried

_SIGNIFICANT = 6.0
# Differences, in widths of the scattering, above which one is reported, and above which it is refused.
_TOLD = 0.05
_REFUSED = 1.0
_LOSS = 10.0  # MeV; particles do lose that much energy within a step
_NAMES = {"1": "truth", "e": "Runge-Kutta"}
# The fit: widths at which rows are cut, passes, MAD to σ of a Gaussian, and the least width. Samples that
# agree better have no tails to cut.
_CUT = 4.0
_PASSES = 6
_OF_GAUSSIAN = 1.4826
_LEAST = 1e-3


@dataclass(frozen=True)
class _Term:
    """A difference and its derivatives `per` (n, 4) in units of x, y, tx, ty."""

    name: str
    unit: str
    per: NDArray[np.float64]

    @property
    def scale(self) -> float:
        """Factor from the coefficient to the unit of messages."""
        return 1000.0 if self.unit == "mrad" else 1.0


def _terms(moved: Carried) -> list[_Term]:
    count = len(moved.states)
    zero = np.zeros(count)
    bend = moved.states - moved.straight
    slopes = np.column_stack([moved.states[:, 2], moved.states[:, 3], zero, zero])
    shifts = [np.tile(row, (count, 1)) for row in np.eye(4)]
    return [
        _Term("field", "", bend),
        _Term("momentum", "MeV", bend / moved.rows["p_true"][:, None]),
        _Term("lean", "", slopes * moved.states[:, 1:2]),
        _Term("z", "mm", slopes),
        *map(_Term, ("x", "y", "tx", "ty"), ("mm", "mm", "mrad", "mrad"), shifts),
    ]


def small_faults(moved: Carried, end: str) -> tuple[NDArray[np.float64], list[Finding]]:
    """Fit all differences of an end, "1" or "e", at once.

    Returns
    -------
    pulls : (n, 4) float64
        Without the differences that were found.
    findings : list of Finding
    """
    rest, findings = moved.pulls(end), []
    terms = _terms(moved)
    per = np.stack([term.per / moved.sigma for term in terms], axis=-1)
    values, errors = _coefficients(per.reshape(-1, len(terms)), rest.ravel())
    for number, term in enumerate(terms):
        value, error = float(values[number]), float(errors[number])
        size = float(np.median(np.abs(value * per[..., number]).max(axis=1)))
        if abs(value) < _SIGNIFICANT * error or size < _TOLD:
            continue
        rest = rest - value * per[..., number]
        if term.name == "momentum" and end == "1" and 0.0 < value < _LOSS:
            continue
        measured = f"{term.scale * value:+.3g} ± {term.scale * error:.1g} {term.unit}".strip()
        evidence = f"{measured}, a median of {size:.2g} widths of the scattering"
        # A field of the wrong sign, or a missing one, is wrong however little it bends here.
        verdict: Verdict = "wrong" if size > _REFUSED or _whole(term, value) else "doubtful"
        findings.append(Finding(verdict, f"{_NAMES[end]}: {_told(term, value)}", evidence))
    return rest, findings


def _coefficients(
    terms: NDArray[np.float64], residual: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least squares of residual (n,) = terms (n, k) · values (k,), both in units of the residual's error.

    Rows that are off by more than four widths are left out. The errors (k,) of terms that are zero are
    infinite.
    """
    size = np.sqrt((terms**2).mean(axis=0))
    used = np.flatnonzero(size > 0.0)
    values, errors = np.zeros(terms.shape[1]), np.full(terms.shape[1], np.inf)
    unit = terms[:, used] / size[used]
    keep = np.ones(len(residual), bool)
    for _ in range(_PASSES):
        normal = unit[keep].T @ unit[keep]
        inverse = np.linalg.pinv(normal, rcond=1e-10, hermitian=True)
        found = inverse @ (unit[keep].T @ residual[keep])
        rest = residual - unit @ found
        spread = max(_OF_GAUSSIAN * float(np.median(np.abs(rest))), _LEAST)
        values[used] = found / size[used]
        errors[used] = spread * np.sqrt(np.maximum(np.diag(inverse), 0.0)) / size[used]
        keep = np.abs(rest) <= _CUT * spread
    return values, errors


def _whole(term: _Term, value: float) -> bool:
    return term.name == "field" and (abs(value + 2.0) < 0.3 or abs(value + 1.0) < 0.1)


def _told(term: _Term, value: float) -> str:
    if term.name == "field" and _whole(term, value):
        return TURNED if value < -1.5 else "it went straight, without a field"
    more = "stronger" if value > 0 else "weaker"
    texts = {
        "field": f"the field behind it is {100 * abs(value):.2g} % {more} than the run's",
        "momentum": f"its momentum is {abs(value):.3g} MeV {'lower' if value > 0 else 'higher'} than p_true",
        "lean": f"z1 is the plane's, not the track's: dz/dy = {value:.3g}",
        "z": f"z1 is off by {-value:+.3g} mm",
    }
    return texts.get(term.name, f"{term.name} is shifted by {term.scale * value:+.3g} {term.unit}")
