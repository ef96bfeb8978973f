"""How far the numbers of a part move with its rows: the response of its fit, from some of the rows."""

from dataclasses import dataclass

import numpy as np

from parkf.model.codegen.numpy_step import NumpyStep
from parkf.training.extrapolation import ORDER, REACH, scattering_weights
from parkf.training.result import SetResult
from parkf.training.rows import COMPONENTS, F64, Rows, residuals, select

_PARTS = 5  # of the rows, whose spread is the error of a response


@dataclass(frozen=True)
class Response:
    """What a change of its rows does to a parameter set."""

    shift: float  # largest shift of a number, in errors of the number
    error: float  # of the shift
    number: str  # that moves by it: p3
    misfit: (
        float  # largest RMS, of a component, by which form − Runge-Kutta changes, in widths of the scattering
    )


def measure_response(functions: NumpyStep, fitted: SetResult, before: Rows, after: Rows) -> Response:
    """Measure how a fit follows the change of its rows from `before` to `after`, row by row."""
    p, errors = np.array(fitted.values), np.array([error or np.inf for error in fitted.errors])
    shift = _shift(functions, p, before, after) / errors
    of_parts = [
        _shift(
            functions,
            p,
            *(select(rows, np.arange(part, len(rows["qop"]), _PARTS)) for rows in (before, after)),
        )
        for part in range(_PARTS)
    ]
    most = int(np.argmax(np.abs(shift)))
    spread = np.std([one[most] for one in of_parts], ddof=1) / errors[most] / np.sqrt(_PARTS)
    old, new = (residuals(functions.predict(p, rows), rows, "e") for rows in (before, after))
    misfit = max(
        np.sqrt(np.mean(((new[c] - old[c]) / scattering_weights(functions, before, p, c)) ** 2))
        for c in COMPONENTS
    )
    return Response(abs(float(shift[most])), float(spread), f"p{most}", float(misfit))


def _shift(functions: NumpyStep, p: F64, before: Rows, after: Rows) -> F64:
    """Shift of all parameters (m,): a Newton step of the fits of p, then what p̃ follows of the widths."""
    step, moved = functions.step, p.copy()
    left = list(step.indices("extrapolation"))
    for component in ORDER:
        own = [i for i in left if step.symbols[i] in step.outputs[component].free_symbols]
        left = [i for i in left if i not in own]
        weights = scattering_weights(functions, before, p, component)
        old, new = (
            residuals(functions.predict(values, rows), rows, "e")[component] / weights / REACH
            for values, rows in ((p, before), (moved, after))
        )
        # Gradient and curvature of the loss in :mod:`parkf.training.extrapolation`, ln(1 + pull²).
        pushed = new / (1 + new**2) - old / (1 + old**2)
        if own:
            design = functions.gradient(component, p, before, own) / weights[:, None] / REACH
            scale = np.maximum(np.linalg.norm(design, axis=0), np.finfo(float).tiny)
            design /= scale
            curvature = design.T @ (design * ((1 - old**2) / (1 + old**2) ** 2)[:, None])
            moved[own] -= np.linalg.lstsq(curvature, design.T @ pushed, rcond=1e-9)[0] / scale
    shift = moved - p
    noise = step.indices("noise")
    for component in COMPONENTS if noise else ():
        widths = [
            np.median(
                np.abs(residuals(functions.predict(values, rows), rows, "1")[component]) / sigma[component]
            )
            for values, rows in ((p, before), (moved, after))
            for sigma in [functions.noise(p, rows)]
        ]
        for i in noise:
            change = p[i] * (widths[1] / widths[0] - 1)
            if step.symbols[i] in step.noise[component].free_symbols and abs(change) > abs(shift[i]):
                shift[i] = change
    return shift
