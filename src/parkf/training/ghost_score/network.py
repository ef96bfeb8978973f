"""A network with one layer of hidden units, max(0, w·f + b), and its logistic regression."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

# Strength of the L2 regularisation of the mean log likelihood; a factor of a few either way changes nothing.
RIDGE = 1e-4
ROUNDS = 200
_BLOCK = 1 << 13  # number of rows whose hidden units are in memory at a time


def train(features: F32, genuine: NDArray[np.bool_], *, hidden: int, seed: int) -> F32:
    """Train a network for the log odds that a row is genuine; both classes have the same total weight.

    Features are (n, m), and both classes (n,) must occur; the seed is that of the random start. Return
    weights and offset of each hidden unit, then weights of these and an offset, (hidden·(m + 1) + hidden +
    1,), for features that are not standardised.
    """
    mean = features.mean(0, dtype=np.float64)
    width = np.maximum(features.std(0, dtype=np.float64), 1e-6)
    standard = ((features - mean) / width).astype(np.float32)
    weight = np.where(genuine, 0.5 / genuine.sum(), 0.5 / (~genuine).sum()).astype(np.float32)
    m = features.shape[1]
    random = np.random.default_rng(seed)
    start = [random.normal(size=(hidden, m)) / np.sqrt(m), np.zeros((hidden, 1))]
    start = [np.column_stack(start).ravel(), random.normal(size=hidden) / np.sqrt(hidden), np.zeros(1)]
    found = minimize(
        _loss,
        np.concatenate(start),
        args=(standard, genuine, weight, hidden),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ROUNDS, "maxcor": 20},
    ).x
    first = found[: hidden * (m + 1)].reshape(hidden, m + 1)
    # Fold the standardisation into the weights, so that they apply to the features themselves.
    first[:, :m] /= width
    first[:, m] -= first[:, :m] @ mean
    return np.concatenate([first.ravel(), found[hidden * (m + 1) :]]).astype(np.float32)


def _loss(
    numbers: F64, features: F32, genuine: NDArray[np.bool_], weight: F32, hidden: int
) -> tuple[float, F64]:
    """Negative mean log likelihood with the L2 regularisation, and its gradient."""
    m = features.shape[1]
    single = numbers.astype(np.float32)
    rows = single[: hidden * (m + 1)].reshape(hidden, m + 1)
    last, offset = single[-hidden - 1 : -1], single[-1]
    value, gradient = 0.0, np.zeros_like(numbers)
    of_rows = gradient[: hidden * (m + 1)].reshape(hidden, m + 1)
    for begin in range(0, len(features), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        f, y, w = features[block], genuine[block], weight[block]
        units = np.maximum(f @ rows[:, :m].T + rows[:, m], 0)
        odds = units @ last + offset
        value += float((w * np.logaddexp(0, np.where(y, -odds, odds))).sum(dtype=np.float64))
        pull = w * (0.5 * (1 + np.tanh(0.5 * odds)) - y)
        gradient[-hidden - 1 : -1] += units.T @ pull
        gradient[-1] += pull.sum(dtype=np.float64)
        back = np.where(units > 0, pull[:, None] * last, 0)
        of_rows[:, :m] += back.T @ f
        of_rows[:, m] += back.sum(0, dtype=np.float64)
    return value + 0.5 * RIDGE * float(numbers @ numbers), gradient + RIDGE * numbers
