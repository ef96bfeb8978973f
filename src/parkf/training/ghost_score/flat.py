"""Fit of the flat cut: quantile regression of the score, with a term for each variable.

At the minimum of the loss, the fraction of genuine tracks below the cut is the same in a neighbourhood of
every knot. This is the condition for a flat efficiency in slices of each variable.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from parkf.params.flat_cut import interpolated
from parkf.params.manifest import FlatAxis, FlatCut

F64 = NDArray[np.float64]

GENUINE = 0.88
"""Fraction that is kept: 3 % above the required 85 %, because slices fluctuate and p, x and y have errors."""

# Close where efficiencies would change most. In GeV, and mm for the distance from the beam line.
KNOTS = {
    "pt": (0.05, 0.08, 0.14, 0.2, 0.3, 0.45, 0.7, 1.2, 3.0),
    "eta": (1.9, 2.3, 2.8, 3.3, 3.8, 4.3, 4.7, 5.1),
    "displacement": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0),
}
# Width within which the loss, which has a kink at the cut, is smooth; in units of the score.
_SMOOTH = 0.05
# L2 regularisation, because a constant may move from one term to another, and a knot may have no tracks.
_RIDGE = 1e-6


def fit_flat_cut(score: F64, of: Mapping[str, F64], *, genuine: float = GENUINE) -> FlatCut:
    """Fit the cut that keeps the fraction `genuine` of genuine tracks in slices of each variable.

    `score` is ``score_kinematic`` of genuine tracks, (n,), and `of` their variables, (n,) each
    (:func:`parkf.params.flat_cut.variables`).
    """
    hats = [
        interpolated(name, of[name], knots, row)
        for name, knots in KNOTS.items()
        for row in np.eye(len(knots))
    ]
    terms = np.column_stack(hats)
    lost = 1 - genuine

    def loss(cuts: F64) -> tuple[float, F64]:
        above = score - terms @ cuts
        value = lost * above + _SMOOTH * np.logaddexp(0, -above / _SMOOTH)
        slope = lost - 0.5 * (1 - np.tanh(0.5 * above / _SMOOTH))
        return value.mean() + _RIDGE * cuts @ cuts, 2 * _RIDGE * cuts - terms.T @ slope / len(score)

    start = np.full(terms.shape[1], np.quantile(score, lost) / len(KNOTS))
    cuts = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-12}).x
    # Each track's terms of one variable sum to one, so that this constant moves the whole cut.
    cuts[: len(KNOTS["pt"])] += np.quantile(score - terms @ cuts, lost)
    several = np.split(cuts, np.cumsum([len(knots) for knots in KNOTS.values()])[:-1])
    pairs = zip(KNOTS.items(), several, strict=True)
    axes = [
        FlatAxis.model_validate({"name": name, "knots": list(knots), "cuts": own.tolist()})
        for (name, knots), own in pairs
    ]
    return FlatCut(genuine=genuine, axes=axes)
