"""NumPy callables of a step, for fits of its parameters and for checks."""

from collections.abc import Callable, Mapping

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from parkf.steps import Step
from parkf.steps.step import NOISE
from parkf.steps.symbols import COMPONENTS, STATE, h, k, pol, state_derivative, z0, z1

Array = NDArray[np.float64]
Rows = Mapping[str, NDArray]

# Columns of a step dataset that the formulas read, in the order of the generated functions' arguments.
COLUMNS = ("x0", "y0", "tx0", "ty0", "qop", "polarity", "z0", "z1")
_FUNCTIONS = {
    "Local": lambda value: value,
    "Side": lambda value: np.where(np.asarray(value) < 0, -1.0, 1.0),
    "Min": np.minimum,
}


class NumpyStep:
    """A step as float64 functions over rows of its dataset.

    `rows` maps the columns x0, y0 (mm), tx0, ty0 (rad), qop (1/MeV, at production), polarity (+1 MagUp), z0
    and z1 (mm, of the very points) to arrays of shape (n,); more columns may be there. `p` are the m
    parameters of one set, shape (m,). For ``UTTF`` the state is the magnet table's at z_out.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        parameters = step.symbols
        self._predict = _compiled([step.outputs[name] for name in COMPONENTS], parameters)
        self._gradients = {
            name: _compiled([sp.diff(step.outputs[name], p) for p in parameters], parameters)
            for name in COMPONENTS
        }
        jacobian = [state_derivative(step.outputs[name], v) for name in COMPONENTS for v in (*STATE, k)]
        self._jacobian = _compiled(jacobian, parameters)
        self._noise = _compiled(list(step.noise.values()), parameters)
        self._local_qop = (
            None if step.local_qop is None else sp.lambdify((k, list(parameters)), step.local_qop, "numpy")
        )
        self._noise_gradients = {
            name: _compiled([sp.diff(form, p) for p in parameters], parameters)
            for name, form in step.noise.items()
        }

    def predict(self, p: Array, rows: Rows) -> tuple[Array, Array, Array, Array]:
        """State at z1: x, y (mm), tx, ty (rad), each (n,) float64."""
        x, y, tx, ty = self._predict(p, rows)
        return x, y, tx, ty

    def gradient(self, component: str, p: Array, rows: Rows) -> Array:
        """∂component/∂p, (n, m) float64, for a component x, y, tx or ty at z1."""
        return np.stack(self._gradients[component](p, rows)).T

    def jacobian(self, p: Array, rows: Rows) -> Array:
        """∂(x, y, tx, ty)₁/∂(x, y, tx, ty, q/p)₀ at fixed z0 and z1, (n, 4, 5) float64."""
        return np.stack(self._jacobian(p, rows), axis=1).reshape(-1, 4, 5)

    def noise(self, p: Array, rows: Rows) -> dict[str, Array]:
        """σ of x, y (mm), tx, ty (rad) and the correlations rho_x, rho_y, each (n,) float64.

        Raises
        ------
        ValueError
            When the step has no noise of its own.
        """
        if not self.step.noise:
            raise ValueError(f"step {self.step.name} has no noise")
        return dict(zip(NOISE, self._noise(p, rows), strict=True))

    def local_qop(self, p: Array, qop: Array) -> Array:
        """q/p (1/MeV) before the magnet, after the energy loss so far, from q/p at production, (n,).

        Raises
        ------
        ValueError
            When the step is not the hop through the magnet.
        """
        if self._local_qop is None:
            raise ValueError(f"step {self.step.name} does not go through the magnet")
        local: Array = self._local_qop(qop, p)
        return local

    def noise_gradient(self, name: str, p: Array, rows: Rows) -> Array:
        """∂(one of the noise's σ or ρ)/∂p, (n, m) float64."""
        return np.stack(self._noise_gradients[name](p, rows)).T


_compiled_steps: dict[str, NumpyStep] = {}


def numpy_step(step: Step) -> NumpyStep:
    """Compile the NumPy functions of a step, once per process and formula."""
    key = step.formula_hash()
    if key not in _compiled_steps:
        _compiled_steps[key] = NumpyStep(step)
    return _compiled_steps[key]


def _compiled(
    expressions: list[sp.Expr], parameters: tuple[sp.Symbol, ...]
) -> Callable[[Array, Rows], list[Array]]:
    """Turn expressions into one NumPy function of (p, rows) that shares common subexpressions."""
    arguments = (list(parameters), *STATE, k, pol, h, z0, z1)
    function = sp.lambdify(arguments, expressions, modules=[_FUNCTIONS, "numpy"], cse=True)

    def evaluate(p: Array, rows: Rows) -> list[Array]:
        columns = [np.asarray(rows[name], dtype=np.float64) for name in COLUMNS]
        x, y, tx, ty, qop, polarity, start, end = columns
        values = function(
            np.asarray(p, dtype=np.float64), x, y, tx, ty, qop, polarity, polarity * qop, start, end
        )
        return [np.broadcast_to(np.asarray(value, dtype=np.float64), x.shape) for value in values]

    return evaluate
