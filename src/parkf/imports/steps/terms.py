"""Small systematic differences of a step dataset: a field a little stronger, a plane's z, a shift."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.imports.inspection import Finding
from parkf.imports.robust import coefficients
from parkf.imports.steps.faults import TURNED
from parkf.imports.steps.rows import Carried

_SIGNIFICANT = 6.0
# Differences, in widths of the scattering, above which one is reported, and above which it is refused.
_TOLD = 0.05
_REFUSED = 1.0
_LOSS = 10.0  # MeV; particles do lose that much energy within a step
_NAMES = {"1": "truth", "e": "Runge-Kutta"}


@dataclass(frozen=True)
class _Term:
    """What a coefficient multiplies, (n, 4) in units of x, y, tx, ty."""

    name: str
    unit: str
    per: NDArray[np.float64]


def _terms(moved: Carried) -> list[_Term]:
    count = len(moved.states)
    zero = np.zeros(count)
    bend = moved.states - moved.straight
    slopes = np.column_stack([moved.states[:, 2], moved.states[:, 3], zero, zero])
    shifts = {name: np.zeros((count, 4)) for name in ("x", "y", "tx", "ty")}
    for number, shift in enumerate(shifts.values()):
        shift[:, number] = 1.0
    return [
        _Term("field", "", bend),
        _Term("momentum", "MeV", bend / moved.rows["p_true"][:, None]),
        _Term("lean", "", slopes * moved.states[:, 1:2]),
        _Term("z", "mm", slopes),
        *(_Term(name, "mm" if len(name) == 1 else "mrad", shift) for name, shift in shifts.items()),
    ]


def small_faults(moved: Carried, end: str) -> tuple[NDArray[np.float64], list[Finding]]:
    """Fit all differences at once; gives the pulls (n, 4) that those that are there leave.

    Parameters
    ----------
    moved : Carried
    end : {"1", "e"}
        Truth, or the extrapolated state.
    """
    rest, findings = moved.pulls(end), []
    terms = _terms(moved)
    per = np.stack([term.per / moved.sigma for term in terms], axis=-1)
    values, errors = coefficients(per.reshape(-1, len(terms)), rest.ravel())
    for number, term in enumerate(terms):
        value, error = float(values[number]), float(errors[number])
        size = float(np.median(np.abs(value * per[..., number]).max(axis=1)))
        if abs(value) < _SIGNIFICANT * error or size < _TOLD:
            continue
        rest = rest - value * per[..., number]
        if term.name == "momentum" and end == "1" and 0.0 < value < _LOSS:
            continue
        # A field of the wrong sign, or a missing one, is wrong however little it bends here.
        verdict = "wrong" if size > _REFUSED or _whole(term, value) else "doubtful"
        evidence = f"{_value(term, value, error)}, a median of {size:.2g} widths of the scattering"
        findings.append(Finding(verdict, _told(term, value, end), evidence))  # type: ignore[arg-type]
    return rest, findings


def _whole(term: _Term, value: float) -> bool:
    return term.name == "field" and (abs(value + 2.0) < 0.3 or abs(value + 1.0) < 0.1)


def _value(term: _Term, value: float, error: float) -> str:
    factor = 1000.0 if term.unit == "mrad" else 1.0
    return f"{factor * value:+.3g} ± {factor * error:.1g} {term.unit}".strip()


def _told(term: _Term, value: float, end: str) -> str:
    of = _NAMES[end]
    if term.name == "field":
        if _whole(term, value):
            return f"{of}: {TURNED if value < -1.5 else 'it went straight, without a field'}"
        more = "stronger" if value > 0 else "weaker"
        return f"{of}: the field behind it is {100 * abs(value):.2g} % {more} than the run's"
    if term.name == "momentum":
        return f"{of}: its momentum is {abs(value):.3g} MeV {'lower' if value > 0 else 'higher'} than p_true"
    if term.name == "lean":
        return f"{of}: z1 is the plane's, not the track's: dz/dy = {value:.3g}"
    if term.name == "z":
        return f"{of}: z1 is off by {-value:+.3g} mm"
    factor = 1000.0 if term.unit == "mrad" else 1.0
    return f"{of}: {term.name} is shifted by {factor * value:+.3g} {term.unit}"
