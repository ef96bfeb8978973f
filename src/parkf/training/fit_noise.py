"""Conversion between the noise in a set and the noise that was fitted to its steps.

They differ in two ways. First, each kind of step has a factor (:mod:`parkf.training.widening`). Second, a
fraction of the scattering in the step through the magnet may be moved in front of the bend. In production's
formulas the noise behind the bend is a number times 1/p. But a turn in front of the bend grows by (N'/N)³ on
the way through it, with N = √(1 + tx² + ty²), which matters for soft tracks. With all noise behind the bend,
the error of q/p would be too small for soft tracks, compared with hard ones. The last gap between UT layers
ends where the step through the magnet begins, and the table extrapolates the noise of its slope. The fraction
that grows therefore belongs to this gap.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.model.steps import Forms
from parkf.model.steps.scifi import GAPS
from parkf.params.configuration import noise_scale
from parkf.training.widening import widening

F64 = NDArray[np.float64]
BlockNumbers = Mapping[str, F64]

# Key of the fraction that stays behind the bend, of the largest turn that the noise allows at the last UT
# layer.
STAYS = "BEND"
# In production's forms: index of the last forward gap in the UT; indices of the noise of slope, position and
# correlation, for that gap and for the step through the magnet, in x and in y; power of ten in the unit of
# the latter's position.
_LAST_GAP = 2
_PLANES = (((8, 1, 9), (12, 13, 14)), ((10, 3, 11), (15, 16, 17)))
_TEN = 100.0


def noise_factors(
    forms: Forms, fitted: BlockNumbers, configuration: Mapping[str, str] | None, way: float
) -> dict[str, F64]:
    """Return the factors of fitted numbers in a set of this configuration, (sets, m) of each step.

    The step to the first SciFi layer has no noise in its formulas; the first gap behind it includes its
    noise.

    Parameters
    ----------
    fitted : mapping of str to (sets, m) float64
        Numbers of every step.
    configuration : mapping of str to str or None
        Of a manifest.
    way : float
        From the last UT layer to z_out, mm.

    Raises
    ------
    ParkfError
        When there is no such noise, or these forms cannot move a fraction of it in front of the bend.
    """
    factors = _widenings(forms, configuration)
    stays = noise_scale(configuration).get(STAYS, 1.0)
    if stays == 1:
        return factors
    planes = _planes(forms)
    gap, hop = (fitted[name] * factors[name] for name in ("UT", "UTTF"))
    moved = {"UT": gap.copy(), "UTTF": hop.copy()}
    for own, far in planes:
        _move_in_front(moved["UT"][_LAST_GAP], moved["UTTF"][0], own, far, way, 1 - stays)
    for name, before in (("UT", gap), ("UTTF", hop)):
        factors[name] *= np.divide(moved[name], before, out=np.ones_like(before), where=before != 0)
    return factors


def fitted_numbers(
    forms: Forms, held: BlockNumbers, configuration: Mapping[str, str] | None, way: float
) -> dict[str, F64]:
    """Invert :func:`noise_factors`: return the fitted numbers of the steps from those of a set."""
    numbers = {name: np.array(held[name], np.float64) for name in forms.steps}
    stays = noise_scale(configuration).get(STAYS, 1.0)
    if stays != 1:
        for own, far in _planes(forms):
            # The noise behind the bend allows `stays` times the largest turn from before.
            _move_in_front(numbers["UT"][_LAST_GAP], numbers["UTTF"][0], own, far, way, 1 - 1 / stays)
    factors = _widenings(forms, configuration)
    return {name: values / factors[name] for name, values in numbers.items()}


def _widenings(forms: Forms, configuration: Mapping[str, str] | None) -> dict[str, F64]:
    scales = noise_scale(configuration)
    factors = {
        name: np.tile(widening(step, scales.get(name, 1.0)), (len(step.sets), 1))
        for name, step in forms.steps.items()
    }
    gaps = forms.steps["T"]
    factors["T"][: len(gaps.sets) // GAPS] *= widening(gaps, scales.get("TFT", 1.0))
    return factors


def _planes(forms: Forms) -> tuple[tuple[tuple[int, int, int], tuple[int, int, int]], ...]:
    if forms.name != "production":
        raise ParkfError(
            f"training.noise_scale.{STAYS}: forms '{forms.name}' know how noise grows through the bend; "
            f"leave {STAYS} at 1"
        )
    return _PLANES


def _move_in_front(
    gap: F64, hop: F64, own: tuple[int, int, int], far: tuple[int, int, int], way: float, fraction: float
) -> None:
    """Move `fraction` of the largest turn at the layer in front of the bend, in place.

    Q of (position, slope) behind the bend, in units of 1/p², includes a turn of variance a² at the layer as
    long as Q − a²·v·vᵀ with v = (way, 1) has no negative eigenvalue: up to a² = 1/(vᵀ Q⁻¹ v).
    """
    slope, position, rho = hop[far[0]], _TEN * hop[far[1]], hop[far[2]]
    if not (slope > 0 and position > 0 and abs(rho) < 1):
        raise ParkfError(
            f"training.noise_scale.{STAYS}: the hop through the magnet has widths {slope:g} MeV and "
            f"{position:g} mm MeV with correlation {rho:g}; no part of that can be taken in front of the bend"
        )
    q_xx, q_xt, q_tt = position**2, rho * position * slope, slope**2
    turn = (q_xx * q_tt - q_xt**2) / (q_tt * way**2 - 2 * q_xt * way + q_xx)
    a2 = fraction * turn
    q_xx, q_xt, q_tt = q_xx - a2 * way**2, q_xt - a2 * way, q_tt - a2
    hop[far[0]], hop[far[1]] = np.sqrt(q_tt), np.sqrt(q_xx) / _TEN
    hop[far[2]] = q_xt / np.sqrt(q_xx * q_tt)
    # At the layer itself the turn causes no displacement, so the covariance of position and slope stays.
    before = gap[own[0]]
    gap[own[0]] = np.sqrt(before**2 + a2)
    gap[own[2]] *= before / gap[own[0]]
