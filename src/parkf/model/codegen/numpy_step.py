"""NumPy callables of a step, for fits of its parameters and for checks."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from sympy.codegen.rewriting import create_expand_pow_optimization
from sympy.printing.numpy import NumPyPrinter

from parkf.model.steps import Step
from parkf.model.steps.step import NOISE
from parkf.model.steps.symbols import BEFORE, COMPONENTS, STATE, h, k, pol, state_derivative, z0, z1

Array = NDArray[np.float64]
Rows = Mapping[str, NDArray[Any]]

# A function of p and rows, which returns arrays (n,).
_Evaluation = Callable[..., list[Array]]
_multiplied = create_expand_pow_optimization(8)

# Columns of a step dataset that the formulas read, in the order of the generated functions' arguments.
COLUMNS = ("x0", "y0", "tx0", "ty0", "qop", "polarity", "z0", "z1")
# Additional columns for the noise of the hop through the magnet: the state at z_in.
BEFORE_COLUMNS = tuple(str(symbol) for symbol in BEFORE)
_FUNCTIONS = {
    "Local": lambda value: value,
    "Side": lambda value: np.where(np.asarray(value) < 0, -1, 1).astype(np.result_type(value)),
    "Min": np.minimum,
}
_PRINTER = NumPyPrinter(
    {"fully_qualified_modules": False, "inline": True, "user_functions": {name: name for name in _FUNCTIONS}}
)


class NumpyStep:
    """A step as float64 functions over rows of its dataset.

    `rows` maps the columns x0, y0 (mm), tx0, ty0 (rad), qop (1/MeV, at production), polarity (+1 MagUp), z0
    and z1 (mm, of the points themselves) to arrays of shape (n,); other columns are ignored. `p` are the m
    parameters of one set, shape (m,). For ``UTTF`` the state is the magnet table's at z_out, and x_in, y_in,
    tx_in, ty_in the state at z_in.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self._predict = _compiled([step.outputs[name] for name in COMPONENTS], step.symbols)
        self._noise = _compiled(list(step.noise.values()), step.symbols)
        self._derivatives: dict[tuple[str, str, tuple[int, ...]], _Evaluation] = {}
        self._local_qop = (
            None if step.local_qop is None else numpy_function((k, list(step.symbols)), step.local_qop)
        )

    def predict(self, p: Array, rows: Rows) -> tuple[Array, Array, Array, Array]:
        """State at z1: x, y (mm), tx, ty (rad), each (n,) float64."""
        x, y, tx, ty = self._predict(p, rows)
        return x, y, tx, ty

    def gradient(self, component: str, p: Array, rows: Rows, own: Sequence[int] | None = None) -> Array:
        """∂component/∂p, (n, m) float64, for x, y, tx or ty at z1; `own` chooses some of the parameters."""
        return self._derivative("outputs", component, p, rows, own)

    def jacobian(self, p: Array, rows: Rows) -> Array:
        """∂(x, y, tx, ty)₁/∂(x, y, tx, ty, q/p)₀ at fixed z0 and z1, (n, 4, 5) float64."""
        return np.stack(self._jacobian(p, rows), axis=1).reshape(-1, 4, 5)

    @cached_property
    def _jacobian(self) -> "_Evaluation":
        forms = [state_derivative(self.step.outputs[name], v) for name in COMPONENTS for v in (*STATE, k)]
        return _compiled(forms, self.step.symbols)

    def noise(self, p: Array, rows: Rows) -> dict[str, Array]:
        """σ of x, y (mm), tx, ty (rad) and the correlations rho_x, rho_y, each (n,) float64."""
        return dict(zip(NOISE, self._noise(p, rows), strict=True))

    def local_qop(self, p: Array, qop: Array) -> Array:
        """q/p (1/MeV) before the magnet, after the energy loss so far, from q/p at production, (n,)."""
        assert self._local_qop is not None
        local: Array = self._local_qop(qop, p)
        return local

    def noise_gradient(self, name: str, p: Array, rows: Rows, own: Sequence[int] | None = None) -> Array:
        """∂(one of the noise's σ or ρ)/∂p, (n, m) float64; `own` chooses some of the parameters."""
        return self._derivative("noise", name, p, rows, own)

    def _derivative(
        self, of: Literal["outputs", "noise"], name: str, p: Array, rows: Rows, own: Sequence[int] | None
    ) -> Array:
        """Differentiate with respect to parameters; compile a derivative when it is first needed."""
        key = of, name, tuple(range(len(p)) if own is None else own)
        if key not in self._derivatives:
            form = getattr(self.step, of)[name]
            forms = [sp.diff(form, self.step.symbols[i]) for i in key[2]]
            self._derivatives[key] = _compiled(forms, self.step.symbols)
        return np.stack(self._derivatives[key](p, rows)).T


def numpy_function(arguments: Any, forms: Any, *, cse: Any = False) -> Callable[..., Any]:
    """Turn formulas into a function of NumPy arrays, as ``sympy.lambdify`` does.

    By itself, SymPy would import everything from NumPy, which also loads its tools for developers.
    """
    return sp.lambdify(arguments, forms, [_FUNCTIONS, vars(np)], printer=_PRINTER, cse=cse)


_compiled_steps: dict[str, NumpyStep] = {}


def numpy_step(step: Step) -> NumpyStep:
    """Compile the NumPy functions of a step, once per process and formula."""
    key = step.formula_hash()
    if key not in _compiled_steps:
        _compiled_steps[key] = NumpyStep(step)
    return _compiled_steps[key]


def _compiled(expressions: list[sp.Expr], parameters: tuple[sp.Symbol, ...]) -> _Evaluation:
    """Turn expressions into one NumPy function of (p, rows) that shares common subexpressions."""
    used = set().union(*(form.free_symbols for form in expressions))
    begins = BEFORE if used & set(BEFORE) else ()
    arguments = (list(parameters), *STATE, k, pol, h, z0, z1, *begins)
    function = numpy_function(arguments, expressions, cse=_shared)

    def evaluate(p: Array, rows: Rows) -> list[Array]:
        columns = [np.asarray(rows[name], dtype=np.float64) for name in COLUMNS]
        x, y, tx, ty, qop, polarity, start, end = columns
        before = [np.asarray(rows[str(symbol)], dtype=np.float64) for symbol in begins]
        values = function(
            np.asarray(p, dtype=np.float64), x, y, tx, ty, qop, polarity, polarity * qop, start, end, *before
        )
        return [value if np.shape(value) == x.shape else np.full(x.shape, float(value)) for value in values]

    return evaluate


def _shared(expressions: list[sp.Expr]) -> tuple[list[tuple[sp.Symbol, sp.Expr]], list[sp.Expr]]:
    """Find common subexpressions; powers become products, which NumPy computes forty times faster."""
    common, rest = sp.cse(expressions, list=False)
    return [(symbol, _multiplied(form)) for symbol, form in common], [_multiplied(form) for form in rest]
