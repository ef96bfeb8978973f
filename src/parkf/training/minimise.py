"""Minimisation with iminuit: analytic gradients, sandwich errors, and no invalid minimum passes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from iminuit import Minuit
from numpy.typing import NDArray

from parkf.errors import ParkfError
from parkf.training.result import Minimum

F64 = NDArray[np.float64]
# Of all parameters (m,): contributions to the negative log-likelihood, (n,), and their derivatives with
# respect to those that float, (n, f).
Likelihood = Callable[[F64], tuple[F64, F64]]
Limits = tuple[float | None, float | None]


class Influence:
    """How far each particle has moved the parameters fitted so far.

    The sum of its squares is the sandwich covariance, which holds whatever the residuals' true distribution
    is. A later fit inherits the errors of earlier ones through it: positions use the fitted slopes.

    Parameters
    ----------
    clusters : (n,) int64
        Particle of each row, from 0: rows of one particle are not independent.
    parameters : int
        How many parameters a set has; nuisances come behind them, belong to one fit, and are not kept.
    """

    def __init__(self, clusters: NDArray[np.int64], parameters: int) -> None:
        self.parameters = parameters
        self._clusters = clusters
        self._count = int(clusters.max()) + 1
        self.of: dict[int, F64] = {}

    def by_particle(self, rows: F64) -> F64:
        """Sum the rows (n, f) of each particle."""
        return np.stack([np.bincount(self._clusters, column, self._count) for column in rows.T], axis=1)


@dataclass(frozen=True)
class Floating:
    """A parameter of a fit: its position among all, its name, and limits."""

    index: int
    name: str
    limits: Limits = (None, None)


def minimise(
    likelihood: Likelihood,
    start: F64,
    floating: Sequence[Floating],
    directions: F64,
    influence: Influence,
    *,
    target: str,
    kind: str,
    where: str,
) -> Minimum:
    """Minimise a negative log-likelihood.

    Parameters
    ----------
    likelihood : callable
        See :data:`Likelihood`.
    start : (m,) float64
        All parameters and nuisances; those that do not float stay.
    floating : sequence of Floating
        In the order of the likelihood's derivatives.
    directions : (f, f) float64
        Columns are the steps that Minuit thinks in, each of the size of an error. Columns that are
        independent in the likelihood make light work of correlated parameters; a parameter with limits needs
        a column of its own.
    influence : Influence
        Of the fits before; this one's is added.
    target, kind : str
        For the record.
    where : str
        Step and set, for error messages.

    Raises
    ------
    ParkfError
        When the minimum is not valid, with Minuit's reason.
    """
    index = [f.index for f in floating]

    def place(w: F64) -> F64:
        vector = start.copy()
        vector[index] += directions @ w
        return vector

    last: list[tuple[F64, float, F64]] = []

    def evaluate(w: F64) -> tuple[float, F64]:
        # MIGRAD asks for value and gradient of the same point one after the other.
        if not last or not np.array_equal(last[0][0], w):
            contributions, derivatives = likelihood(place(w))
            last[:] = [(np.array(w), float(contributions.sum()), derivatives.sum(axis=0) @ directions)]
        return last[0][1], last[0][2]

    minuit = Minuit(lambda w: evaluate(w)[0], np.zeros(len(index)), grad=lambda w: evaluate(w)[1])
    minuit.errordef = Minuit.LIKELIHOOD
    minuit.errors = np.ones(len(index))
    scales = np.diag(directions)
    minuit.limits = [
        tuple(None if limit is None else (limit - start[f.index]) / scale for limit in f.limits)
        for f, scale in zip(floating, scales, strict=True)
    ]
    minuit.migrad()
    minuit.hesse()
    # A bad start can end above the tolerated distance; a second, careful run from there settles it.
    if not minuit.valid:
        minuit.strategy = 2
        minuit.migrad()
        minuit.hesse()
    end = place(np.array(minuit.values))
    if not minuit.valid or minuit.covariance is None:
        values = ", ".join(f"{f.name} = {end[f.index]:.6g}" for f in floating)
        raise ParkfError(
            f"{where}: fit of {target} ({kind}) is invalid: {_reason(minuit)}; at {values}. "
            "More events, or a form with fewer parameters, may help"
        )
    covariance = directions @ np.array(minuit.covariance) @ directions.T
    moved = _influence(likelihood, end, covariance, influence)
    influence.of |= {i: column for i, column in zip(index, moved.T, strict=True) if i < influence.parameters}
    sandwich = moved.T @ moved
    errors = np.sqrt(np.diag(sandwich))
    return Minimum(
        target=target,
        kind=kind,
        names=[f.name for f in floating],
        values=end[index].tolist(),
        errors=errors.tolist(),
        naive_errors=np.sqrt(np.diag(covariance)).tolist(),
        correlation=(sandwich / np.outer(errors, errors)).tolist(),
        edm=float(minuit.fmin.edm),
        nll=float(minuit.fval),
        calls=int(minuit.nfcn),
    )


def _influence(likelihood: Likelihood, end: F64, covariance: F64, influence: Influence) -> F64:
    """Shift of the minimum by each particle, (particles, f): by its own pull, and through earlier fits."""
    pulls = influence.by_particle(likelihood(end)[1])
    for index, moved in influence.of.items():
        step = np.sqrt(moved @ moved)
        slopes = []
        for sign in (-1, 1):
            shifted = end.copy()
            shifted[index] += sign * step
            slopes.append(likelihood(shifted)[1].sum(axis=0))
        pulls += np.outer(moved, (slopes[1] - slopes[0]) / (2 * step))
    return -pulls @ covariance


def _reason(minuit: Minuit) -> str:
    fmin = minuit.fmin
    reasons = {
        "it reached the call limit": fmin.has_reached_call_limit,
        f"its distance to the minimum is {fmin.edm:.2g}, allowed {fmin.edm_goal:.2g}": fmin.is_above_max_edm,
        "parameters stand at a limit": fmin.has_parameters_at_limit,
        "the curvature could not be computed": fmin.hesse_failed,
        "the curvature is not positive": not fmin.has_posdef_covar,
    }
    return "; ".join(text for text, holds in reasons.items() if holds) or "Minuit gives no reason"
