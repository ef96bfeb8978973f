"""The flat cut: a cut on ``score_kinematic`` that depends on pT, η and the distance from the beam line.

Most ghosts have a small pT. A constant cut on ``score_kinematic`` therefore loses most of the genuine tracks
of small pT, and distorts every spectrum after it. The flat cut keeps the same fraction of genuine tracks in
slices of each of these variables. ``score_flat`` is ``score_kinematic`` minus the cut: keep tracks above 0.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkf.params.manifest import Constants, FlatCut

F64 = NDArray[np.float64]

NAME = "score_flat"
"""Column of `fitted`."""

_LINEAR = "eta"  # The other variables enter by their logarithms.


def variables(fitted: Any, constants: Constants) -> dict[str, F64]:
    """Return the variables of the cut from the state at the beam line, (n,) each.

    `fitted` has x, y (mm), tx, ty and qop (1/MeV). ``pt`` is in GeV; ``displacement`` is the closest distance
    of the track from the beam line, in mm.
    """
    names = ("x", "y", "tx", "ty", "qop")
    x, y, tx, ty, qop = (np.asarray(getattr(fitted, name), np.float64) for name in names)
    slope = np.hypot(tx, ty)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return {
            "pt": 1e-3 / np.abs(qop) * slope / np.sqrt(1 + slope**2),
            "eta": np.arcsinh(1 / slope),
            "displacement": np.abs((x - constants.beam_x) * ty - (y - constants.beam_y) * tx) / slope,
        }


def interpolated(axis: str, values: F64, knots: ArrayLike, at_knots: ArrayLike) -> F64:
    """Interpolate between the knots of an axis, (n,); constant outside them, NaN where a value is NaN."""
    scale = np.asarray if axis == _LINEAR else np.log
    with np.errstate(divide="ignore"):
        return np.interp(scale(values), scale(np.asarray(knots)), np.asarray(at_knots, np.float64))


def flat_score(flat: FlatCut, score_kinematic: NDArray[Any], of: dict[str, F64]) -> NDArray[Any]:
    """Return ``score_kinematic`` minus the cut, (n,), in the precision of the score.

    `of` has the :func:`variables`. The result is NaN where one of them is NaN.
    """
    cut = sum(interpolated(axis.name, of[axis.name], axis.knots, axis.cuts) for axis in flat.axes)
    return np.asarray(score_kinematic - cut, score_kinematic.dtype)


def check(flat: FlatCut) -> str | None:
    """Return what is wrong with a cut, or None."""
    for axis in flat.axes:
        if len(axis.cuts) != len(axis.knots) or len(axis.knots) < 2:
            return (
                f"{axis.name}: got {len(axis.cuts)} cuts at {len(axis.knots)} knots, expected as many, >= 2"
            )
        if not (np.diff(axis.knots) > 0).all() or (axis.name != _LINEAR and axis.knots[0] <= 0):
            return f"{axis.name}: knots {axis.knots}, expected ascending ones, above 0 for a logarithm"
    return None
