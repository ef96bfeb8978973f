"""The noise of a fit out of the noise of single steps.

p̃ is fitted to one step: the core of what scatters there is N(0; σ), and rare hard scatters, a few per cent,
are left to a tail. A fit adds up some thirty steps. The core of a sum of such distributions is wider than the
quadratic sum of the cores, because a hard scatter in one step is no longer out in the tail once others lie
around it; the limit of many steps is the whole variance. So the fit's noise is that of a step times a factor
for the kind of step, ``training.noise_scale`` of the configuration, and the parameter set holds the product.
Widths grow, correlations stay. :mod:`parkf.training.sums` measures how large the factor is.
"""

import numpy as np

from parkf.io.errors import ParkfError
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, NumpyStep, numpy_step
from parkf.model.steps import Step
from parkf.model.steps.step import NOISE
from parkf.training.minimise import F64
from parkf.training.rows import COMPONENTS, Rows

_ROWS, _TURNS = 64, 6
_TOLERANCE = 1e-9


def widening(step: Step, factor: float) -> F64:
    """Factors (m,) of a step's parameters that make its σ `factor` times as wide.

    Raises
    ------
    ParkfError
        When the factor is not one and the step's σ do not all grow with powers of its parameters.
    """
    if factor == 1 or not step.noise:
        return np.ones(len(step.parameters))
    return np.asarray(factor ** np.array(_powers(step)))


def width_powers(functions: NumpyStep) -> F64:
    """Find powers d, (m,), for which p_i λ^d_i makes every σ of a step λ times as wide, and leaves its ρ.

    By Euler's theorem Σ d_i p_i ∂σ/∂p_i = σ and Σ d_i p_i ∂ρ/∂p_i = 0 for all states. The power is zero for
    parameters that are not noise.

    Raises
    ------
    ParkfError
        When there are none.
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
    found, *_ = np.linalg.lstsq(matrix, target)
    found = np.round(found, 6)
    if np.abs(matrix @ found - target).max() > _TOLERANCE:
        raise ParkfError(
            f"step {step.name}: no powers of its noise parameters make all widths grow alike; "
            "write each width as a product with a parameter, or leave training.noise_scale at 1"
        )
    powers = np.zeros(len(step.parameters))
    powers[noise] = found
    return powers


_known: dict[str, tuple[float, ...]] = {}


def _powers(step: Step) -> tuple[float, ...]:
    """Find the powers once per process and formula."""
    key = step.formula_hash()
    if key not in _known:
        _known[key] = tuple(width_powers(numpy_step(step)))
    return _known[key]


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
