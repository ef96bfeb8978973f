"""The fit of LHCb's trigger, followed from point to point.

``fit(…, scheme="trigger")`` returns its results alone. What it computes on the way is for comparisons with
the trigger's own code.
"""

from typing import Any

from numpy.typing import NDArray

import parkf._fitter as _fitter
from parkf.fit.candidates import Candidates
from parkf.fit.cpu import arguments
from parkf.fit.fitted import Fitted
from parkf.params.parameter_set import ParameterSet

POINTS = (
    *("V_end", "UT0", "UT1", "UT2", "UT3", "UT_end", "UTT_in", "UTT_out"),
    *(f"T{layer}" for layer in range(12)),
    *("T_end", "back"),
)
"""At a layer, before its hit is used; ``back``: at the last VELO hit with the final q/p and covariance."""


def trace(parameters: ParameterSet, tracks: Candidates) -> tuple[NDArray[Any], Fitted]:
    """Fit candidates in the trigger's arithmetic, one after the other, and follow each.

    Parameters
    ----------
    parameters : ParameterSet
        A set of production's forms.
    tracks : Candidates
        n of them; the fit has their precision.

    Returns
    -------
    (n, 22, 21) float
        At each of ``POINTS`` x, y (mm), tx, ty and q/p (1/MeV), the lower triangle of their covariance row by
        row, and z (mm).
    Fitted
        What :func:`parkf.fit.fit` returns.
    """
    points, numbers, integers = _fitter.trace_trigger(*arguments(parameters, tracks, 1, ""))
    return points, Fitted.from_kernel(numbers, integers)
