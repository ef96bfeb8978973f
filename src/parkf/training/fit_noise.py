"""Conversion between the noise in a set and the noise that was fitted to its steps.

They differ in two ways. First, the noise of each kind of step has a factor, ``training.noise_scale`` of the
configuration. p̃ is fitted to one step. The core of the scattering in it is N(0; σ), and a few per cent of
hard scatters belong to a tail. The fit of a track adds up some thirty steps. The core of a sum of such
distributions is wider than the quadratic sum of the cores, because a hard scatter in one step no longer
stands out once other scatters are added to it. For many steps the square of the width tends to the whole
variance. So the set holds the fitted noise times the factor: widths grow, and correlations stay.
``python -m benchmarks.sums`` measures how large the factor is.

Second, a fraction of the scattering in the step through the magnet may be moved in front of the bend. In
production's formulas the noise behind the bend is a number times 1/p. But a turn in front of the bend grows
by (N'/N)³ on the way through it, with N = √(1 + tx² + ty²). This matters for soft tracks. With all noise
behind the bend, their error of q/p would be too small, compared with that of hard tracks. The last gap
between UT layers ends where the step through the magnet begins, and the table extrapolates the noise of the
slope in this gap. The fraction that grows therefore belongs to this gap.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, NumpyStep, numpy_step
from parkf.model.layout import HEADER, Layout
from parkf.model.steps import Forms, Step
from parkf.model.steps.scifi import GAPS
from parkf.model.steps.step import NOISE
from parkf.params.configuration import noise_scale
from parkf.training.rows import COMPONENTS, F64, Rows

BlockNumbers = Mapping[str, F64]

# Key in `noise_scale`. The noise allows some largest turn at the last UT layer; the value of this key is the
# fraction of that turn that stays behind the bend.
STAYS = "BEND"
# Facts about production's forms. _LAST_GAP is the index of the last forward gap in the UT. _PLANES has, for x
# and for y, the indices of the noise of slope, position and correlation: first in that gap, then in the step
# through the magnet. _TEN is a power of ten in the unit of the noise of position in the magnet.
_LAST_GAP = 2
_PLANES = (((8, 1, 9), (12, 13, 14)), ((10, 3, 11), (15, 16, 17)))
_TEN = 100.0
# The powers of the widths are found with _ROWS rows for each of _TURNS draws of random parameters.
_ROWS, _TURNS = 64, 6


def noise_factors(
    forms: Forms, fitted: BlockNumbers, configuration: Mapping[str, str] | None, way: float
) -> dict[str, F64]:
    """Return, for each step, the factors (sets, m) by which a set of this configuration changes `fitted`.

    The formulas of the step to the first SciFi layer have no noise; the first gap behind that layer includes
    it. The configuration comes from a manifest; `way` is the distance from the last UT layer to z_out, mm.
    """
    factors = _widenings(forms, configuration)
    stays = _stays(forms, configuration)
    if stays == 1:
        return factors
    before = {name: fitted[name] * factors[name] for name in ("UT", "UTTF")}
    moved = {name: numbers.copy() for name, numbers in before.items()}
    _move_in_front(moved, way, 1 - stays)
    for name, old in before.items():
        factors[name] *= np.divide(moved[name], old, out=np.ones_like(old), where=old != 0)
    return factors


def way_through_magnet(layout: Layout, constant: NDArray[Any]) -> float:
    """Return the distance in mm from the last UT layer to z_out, from a constant blob."""
    layers, header = (constant[layout.block_slice(name)] for name in ("UTLayer", "UTT_META"))
    return float(header[HEADER.index("z_out")]) - float(layers[-1])


def _widenings(forms: Forms, configuration: Mapping[str, str] | None) -> dict[str, F64]:
    scales = noise_scale(configuration)
    factors = {
        name: np.tile(widening(step, scales.get(name, 1.0)), (len(step.sets), 1))
        for name, step in forms.steps.items()
    }
    gaps = forms.steps["T"]
    factors["T"][: len(gaps.sets) // GAPS] *= widening(gaps, scales.get("TFT", 1.0))
    return factors


def _stays(forms: Forms, configuration: Mapping[str, str] | None) -> float:
    stays = noise_scale(configuration).get(STAYS, 1.0)
    if stays != 1 and forms.name != "production":
        raise ParkfError(
            f"training.noise_scale.{STAYS}: forms '{forms.name}' know how noise grows through the bend; "
            f"leave {STAYS} at 1"
        )
    return stays


def _move_in_front(numbers: BlockNumbers, way: float, fraction: float) -> None:
    """Move `fraction` of the largest turn to the layer in front of the bend, in x and in y, in place.

    Q is the covariance of (position, slope) behind the bend, in units of 1/p². It can include a turn of
    variance a² at the layer as long as Q − a²·v·vᵀ, with v = (way, 1), has no negative eigenvalue. The
    largest such turn has a² = 1/(vᵀ Q⁻¹ v).
    """
    gap, hop = numbers["UT"][_LAST_GAP], numbers["UTTF"][0]
    for own, far in _PLANES:
        slope, position, rho = hop[far[0]], _TEN * hop[far[1]], hop[far[2]]
        if not (slope > 0 and position > 0 and abs(rho) < 1):
            raise ParkfError(
                f"training.noise_scale.{STAYS}: the hop through the magnet has widths {slope:g} MeV and "
                f"{position:g} mm MeV with correlation {rho:g}; no part of that can be taken in front of the "
                "bend"
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


def widening(step: Step, factor: float) -> F64:
    """Factors (m,) of a step's parameters that make its σ `factor` times as wide."""
    if factor == 1 or not step.noise:
        return np.ones(len(step.parameters))
    return np.asarray(factor ** width_powers(numpy_step(step)))


@cache
def width_powers(functions: NumpyStep) -> F64:
    """Find powers d (m,): the parameters p_i λ^d_i make every σ of a step λ times as wide, and keep its ρ.

    By Euler's theorem Σ d_i p_i ∂σ/∂p_i = σ and Σ d_i p_i ∂ρ/∂p_i = 0 for all states. The power is zero for
    parameters that are not noise. A ParkfError is raised when no such powers exist.
    """
    step = functions.step
    noise = list(step.indices("noise"))
    random = np.random.Generator(np.random.Philox(key=[2026, 7]))
    left, right = [], []
    for _ in range(_TURNS):
        p = np.array([parameter.start for parameter in step.parameters])
        p[noise] = random.uniform(0.3, 2.0, len(noise))
        rows = _anywhere(random)
        values = functions.noise(p, rows)
        for name in NOISE:
            scale = values[name][:, None]
            left.append(functions.noise_gradient(name, p, rows, noise) * p[noise] / scale)
            right.append(np.full(_ROWS, float(name in COMPONENTS)))
    matrix, target = np.concatenate(left), np.concatenate(right)
    found = np.round(np.linalg.lstsq(matrix, target)[0], 6)
    if np.abs(matrix @ found - target).max() > 1e-9:
        raise ParkfError(
            f"step {step.name}: no powers of its noise parameters make all widths grow alike; "
            "write each width as a product with a parameter, or leave training.noise_scale at 1"
        )
    powers = np.zeros(len(step.parameters))
    powers[noise] = found
    return powers


def _anywhere(random: np.random.Generator) -> Rows:
    """Rows all over the acceptance; some of them around the beam pipe."""
    near = random.choice([0.02, 1.0], _ROWS)
    rows: Rows = {name: random.uniform(0.02, 0.3, _ROWS) for name in ("tx0", "ty0", *BEFORE_COLUMNS[2:])}
    rows |= {name: random.uniform(-500, 500, _ROWS) * near for name in ("x0", "y0", *BEFORE_COLUMNS[:2])}
    rows |= {
        "qop": random.choice([-1.0, 1.0], _ROWS) / random.uniform(1500, 50_000, _ROWS),
        "polarity": random.choice([-1.0, 1.0], _ROWS),
        "z0": random.uniform(0, 900, _ROWS),
    }
    return rows | {"z1": rows["z0"] + random.choice([-1.0, 1.0], _ROWS) * random.uniform(10, 100, _ROWS)}
