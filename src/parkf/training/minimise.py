"""Minimisation with iminuit: analytic gradients, sandwich errors; an invalid minimum is refused.

Minuit minimises on a sample of the rows. From there Newton's method reaches the minimum of all rows in three
or four passes over them. Only these passes read all rows, so the rows need not be in memory.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from iminuit import Minuit
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.training.result import Minimum
from parkf.training.rows import F64, GROUPS, SAMPLE, Rows, StoredRows

# The type of a likelihood: a function of all parameters (m,) and of rows. It returns the rows' contributions
# to the negative log-likelihood, (n,), and their derivatives with respect to the floating parameters, (f, n).
Likelihood = Callable[[F64, Rows], tuple[F64, F64]]
Limits = tuple[float, float]
# Largest estimated distance to the minimum, in units of the log-likelihood. Minuit accepts this by default.
LARGEST_EDM = 1e-4
MOST_PASSES = 20
# Rows for the curvature at a minimum where the curvature of `SAMPLE` rows is not positive.
LARGE_SAMPLE = 10 * SAMPLE
# Distance from a limit, in units of a parameter's step, below which a parameter counts as at the limit.
AT_LIMIT = 1e-3


@dataclass(frozen=True)
class Floating:
    """A parameter of a fit: its position among all, its name, and limits."""

    index: int
    name: str
    limits: Limits = (-np.inf, np.inf)


class Fits:
    """The fits of one parameter set: their rows, and how each group of events shifts the parameters.

    The squares of these shifts sum up to the sandwich covariance, which is valid for any distribution of the
    residuals. A later fit inherits the errors of earlier ones, because fits of positions use the fitted
    slopes.

    `parameters` is the number of parameters of the set. Nuisances come behind them; they belong to one fit
    and are not kept. `where` names step and set in error messages.
    """

    def __init__(self, rows: StoredRows, parameters: int, where: str) -> None:
        self.rows = rows
        self.sample = rows.sample(SAMPLE)
        self.share = len(self.sample["qop"]) / len(rows)
        self.where = where
        self._parameters = parameters
        self._moved: dict[int, F64] = {}

    def on(self, rows: StoredRows) -> "Fits":
        """Return fits of the same parameter set on other rows; each knows what the other has fitted."""
        other = Fits(rows, self._parameters, self.where)
        other._moved = self._moved
        return other

    def minimise(
        self,
        likelihood: Likelihood,
        start: F64,
        floating: Sequence[Floating],
        directions: F64,
        *,
        target: str,
        kind: str,
    ) -> Minimum:
        """Minimise a negative log-likelihood.

        `start` (m,) has all parameters and nuisances. Only the `floating` ones change; they are in the order
        of the likelihood's derivatives. Columns of `directions` (f, f) are the steps of Minuit's parameters,
        each of the size of an error. If the columns are independent in the likelihood, the search stays short
        even for correlated parameters. A parameter with limits needs a column with no other parameter.

        A ParkfError names the reason when the minimum is not valid.
        """
        problem = _Problem(likelihood, start, floating, directions)
        indices = [f.index for f in floating]
        w = np.zeros(len(floating))
        try:
            # On its way to the minimum, the search may leave the domain of the formulas.
            with np.errstate(all="ignore"):
                minuit = problem.search(self.sample)
            w = np.array(minuit.values)
            if not minuit.valid:
                raise _InvalidError(_reason(minuit))
            end, hessian = self._descend(problem, w)
        except _InvalidError as invalid:
            place = problem.place(w)
            values = ", ".join(f"{f.name} = {place[f.index]:.6g}" for f in floating)
            raise ParkfError(
                f"{self.where}: fit of {target} ({kind}) is invalid: {invalid}; at {values}. "
                "More events, or a form with fewer parameters, may help"
            ) from None
        w, free = end.w, end.free
        place = problem.place(w)
        # A parameter at its limit counts as fixed. An example is the fraction in the tail if there is no
        # tail.
        inverse = np.zeros_like(hessian)
        inverse[np.ix_(free, free)] = np.linalg.inv(hessian[np.ix_(free, free)])
        moved = self._inherit(problem, w, end.scores) @ -inverse @ directions.T
        self._moved |= {
            f.index: column for f, column in zip(floating, moved.T, strict=True) if f.index < self._parameters
        }
        sandwich = moved.T @ moved
        return Minimum(
            target=target,
            kind=kind,
            names=[f.name for f in floating],
            values=place[indices].tolist(),
            errors=np.sqrt(np.diag(sandwich)).tolist(),
            correlation=_correlation(sandwich).tolist(),
            edm=end.edm,
        )

    def _descend(self, problem: "_Problem", w: F64) -> tuple["_End", F64]:
        """Go from w to the minimum of all rows; return the minimum and the curvature (f, f) at it."""
        hessian = problem.curvature(self.sample, w) / self.share
        end = _newton(problem, hessian, w, self.rows)
        with suppress(_InvalidError):
            return end, problem.curvature(self.sample, end.w) / self.share
        # In a direction that few rows determine, a sample may be concave at the minimum of all rows.
        sample = self.rows.sample(LARGE_SAMPLE)
        return end, problem.curvature(sample, end.w) * len(self.rows) / len(sample["qop"])

    def _inherit(self, problem: "_Problem", w: F64, scores: F64) -> F64:
        """Return the scores (groups, f), plus the change of the gradient when earlier parameters shift."""
        scores, gradient = scores.copy(), problem.gradient(self.sample, w)
        for index, moved in self._moved.items():
            step = float(np.sqrt(moved @ moved))
            change = problem.gradient(self.sample, w, (index, step)) - gradient
            scores += np.outer(moved, change / (step * self.share))
        return scores


class _InvalidError(Exception):
    """The reason why there is no valid minimum."""


class _End(NamedTuple):
    """Where Newton's method ended."""

    w: F64  # the minimum
    edm: float  # estimated distance to the minimum
    scores: F64  # derivatives summed over each group of events, (GROUPS, f)
    free: NDArray[np.bool_]  # which parameters are not at a limit, (f,)


@dataclass(frozen=True)
class _Problem:
    """A likelihood as a function of w, the coordinates in Minuit's steps."""

    likelihood: Likelihood
    start: F64
    floating: Sequence[Floating]
    directions: F64

    def place(self, w: F64) -> F64:
        vector = self.start.copy()
        vector[[f.index for f in self.floating]] += self.directions @ w
        return vector

    @property
    def limits(self) -> F64:
        """Smallest and largest w, (f, 2)."""
        away = np.array([np.subtract(f.limits, self.start[f.index]) for f in self.floating])
        # The column of a parameter with limits moves no other parameter.
        return np.asarray(away / np.abs(np.diag(self.directions))[:, None])

    def evaluate(self, rows: Rows, w: F64) -> tuple[float, F64]:
        """Return the value of the likelihood, and its derivatives by row, (f, n)."""
        contributions, derivatives = self.likelihood(self.place(w), rows)
        return float(contributions.sum()), self.directions.T @ derivatives

    def gradient(self, rows: Rows, w: F64, shift: tuple[int, float] = (0, 0.0)) -> F64:
        """Return the gradient (f,), with parameter ``shift[0]`` changed by ``shift[1]``."""
        vector = self.place(w)
        vector[shift[0]] += shift[1]
        return np.asarray(self.directions.T @ self.likelihood(vector, rows)[1].sum(axis=1))

    def search(self, rows: Rows) -> Minuit:
        """Run MIGRAD on rows in memory."""
        last: list[tuple[F64, float, F64]] = []

        def evaluate(w: F64) -> tuple[float, F64]:
            # MIGRAD asks for value and gradient of the same point one after the other.
            if not last or not np.array_equal(last[0][0], w):
                value, derivatives = self.evaluate(rows, w)
                last[:] = [(np.array(w), value, derivatives.sum(axis=1))]
            return last[0][1], last[0][2]

        minuit = Minuit(lambda w: evaluate(w)[0], np.zeros(len(self.floating)), grad=lambda w: evaluate(w)[1])
        minuit.errordef = Minuit.LIKELIHOOD
        minuit.errors = np.ones(len(self.floating))
        minuit.limits = self.limits
        # A fast strategy is enough: Newton's method follows, and computes the curvature itself.
        minuit.strategy = 0
        minuit.migrad()
        if not minuit.valid:
            # From a bad start, the search can end farther from the minimum than tolerated. A second, more
            # careful run from there corrects this.
            minuit.strategy = 2
            minuit.migrad()
        return minuit

    def curvature(self, rows: Rows, w: F64) -> F64:
        """Second derivatives at w, (f, f), from the gradient a tenth of an error away."""
        derivatives = self.evaluate(rows, w)[1]
        errors, gradient = 1 / np.linalg.norm(derivatives, axis=1), derivatives.sum(axis=1)
        columns = []
        for i, (error, high) in enumerate(zip(errors, self.limits[:, 1], strict=True)):
            shifted = w.copy()
            shifted[i] += 0.1 * error if w[i] + error < high else -0.1 * error
            columns.append((self.gradient(rows, shifted) - gradient) / (shifted[i] - w[i]))
        hessian = 0.5 * (np.array(columns) + np.array(columns).T)
        # The curvature need not be positive definite in parameters at a limit, so these are left out.
        low, high = self.limits.T
        inner = (w > low + AT_LIMIT) & (w < high - AT_LIMIT)
        if not np.all(np.linalg.eigvalsh(hessian[np.ix_(inner, inner)]) > 0):
            raise _InvalidError("the curvature is not positive")
        return hessian


def _correlation(covariance: F64) -> F64:
    """Return the correlation matrix; a parameter without an error has no correlations."""
    errors = np.sqrt(np.diag(covariance))
    correlation = np.eye(len(errors))
    known = np.ix_(errors > 0, errors > 0)
    correlation[known] = covariance[known] / np.outer(errors, errors)[known]
    return correlation


def _sums(problem: _Problem, w: F64, rows: StoredRows) -> tuple[float, F64]:
    """Sum over all rows: return the value, and the derivatives of each group of events, (GROUPS, f)."""

    def of_stripe(stripe: range) -> tuple[float, F64]:
        nll, scores = 0.0, np.zeros((len(w), GROUPS))
        for block in rows.blocks(stripe):
            try:
                # A value after an overflow or an undefined operation is no value of the likelihood.
                with np.errstate(over="raise", divide="raise", invalid="raise"):
                    value, derivatives = problem.evaluate(block, w)
            except FloatingPointError:
                return np.inf, np.ascontiguousarray(scores.T)
            nll += value
            group = block["group"].astype(np.int64)
            for score, derivative in zip(scores, derivatives, strict=True):
                score += np.bincount(group, derivative, GROUPS)
        return nll, np.ascontiguousarray(scores.T)

    nll, scores = 0.0, np.zeros((GROUPS, len(w)))
    for value, more in rows.by_stripe(of_stripe):
        nll += value
        scores += more
    return nll, scores


def _newton(problem: _Problem, hessian: F64, w: F64, rows: StoredRows) -> _End:
    """Go from w to the minimum of all rows, by Newton's method."""
    low, high = problem.limits.T
    edm, before = np.inf, None
    for _ in range(MOST_PASSES):
        nll, scores = _sums(problem, w, rows)
        if not np.isfinite(nll):
            # The likelihood of some row is not finite here: the last step was too long, so halve it.
            if before is None:
                raise _InvalidError("the likelihood of all rows is not finite at the minimum of a sample")
            w = 0.5 * (before[0] + w)
            continue
        gradient = scores.sum(axis=0)
        if before is not None:
            hessian = _updated(hessian, w - before[0], gradient - before[1])
        # A parameter at a limit stays fixed there if the likelihood would push it beyond. The tolerance is
        # needed because Minuit comes close to a limit, but does not reach it.
        pressed_down = (w <= low + AT_LIMIT) & (gradient > 0)
        pressed_up = (w >= high - AT_LIMIT) & (gradient < 0)
        free = ~(pressed_down | pressed_up)
        step = np.zeros(len(w))
        step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        edm = float(-0.5 * gradient @ step)
        if edm < LARGEST_EDM:
            return _End(w, edm, scores, free)
        before = w, gradient
        w = np.clip(w + step, low, high)
    raise _InvalidError(f"its distance to the minimum is {edm:.2g}, allowed {LARGEST_EDM:.2g}")


def _updated(hessian: F64, step: F64, change: F64) -> F64:
    """Update the curvature so that it agrees with the change of the gradient in a step (BFGS formula)."""
    if step @ change <= 0:
        return hessian
    pushed = hessian @ step
    return hessian + np.outer(change, change) / (step @ change) - np.outer(pushed, pushed) / (step @ pushed)


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
