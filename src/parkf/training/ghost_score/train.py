"""Training of the ghost score on candidates of the training sample.

Each of its networks has one layer of hidden units, max(0, w·f + b), and a logistic regression behind it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.optimize import minimize

from parkf.fit import cpu
from parkf.fit.fitted import is_good
from parkf.fit.hits import from_arrow
from parkf.fit.sample import GHOST_PURITY, drawn
from parkf.fit.truth import EVENTS_AT_ONCE
from parkf.io.arrow import column, numbers
from parkf.io.errors import ParkfError
from parkf.io.events import particle_key, tables_by_event
from parkf.io.tables import CANDIDATES, PARTICLES
from parkf.params.ghost_score import FEATURES, HIDDEN, OWN, Score
from parkf.params.parameter_set import ParameterSet

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

# Largest number of candidates that a score is trained on. Only some events of a larger sample are used. The
# number is twice the number of candidates in `CROSSINGS` crossings of Run 3.
MOST = 160_000
_ENOUGH = 500  # of either kind
_ELECTRON, _SOFTEST = 11, 2000.0  # MeV
# Strength of the L2 regularisation of the mean log likelihood. A few times more or less has no effect.
RIDGE = 1e-4
ROUNDS = 200
_BLOCK = 1 << 13  # number of rows whose hidden units are in memory at a time
_TRUTH = ("event", "particle", "pdg_id", "px", "py", "pz", "z_end")


def train_score(
    parameters: ParameterSet, files: Sequence[tuple[Path, Path]], *, seed: int, threads: int | None = None
) -> Score:
    """Train the score of a parameter set, on files that are never used in the validation.

    `files` has the file of particles and the file of candidates of each sample or chunk, in the order of
    events. Genuine is defined as in the validation: one particle, which is not an electron and has more than
    2 GeV, made at least 70% of the hits. A candidate is a ghost if no particle made this fraction. All other
    candidates, and failed fits, are left out. `seed` determines the random start of the networks. The result
    does not depend on `threads`, the number of cores of the fits. A ParkfError is raised when there are fewer
    than 500 candidates of either kind.
    """
    count = 0
    for _, candidates in files:
        with CANDIDATES.open(candidates) as file:
            count += file.metadata.num_rows
    features, genuine = [np.empty((0, len(FEATURES)), np.float32)], [np.empty(0, bool)]
    for particles, candidates in files:
        for seen, is_genuine in _pieces(parameters, particles, candidates, MOST / max(count, 1), threads):
            features.append(seen)
            genuine.append(is_genuine)
    seen, is_genuine = np.concatenate(features), np.concatenate(genuine)
    kinds = {"genuine candidates": int(is_genuine.sum()), "ghosts": int((~is_genuine).sum())}
    if min(kinds.values()) < _ENOUGH:
        found = " and ".join(f"{number} {kind}" for kind, number in kinds.items())
        raise ParkfError(f"ghost score: {found} to train on, expected at least {_ENOUGH} of each")
    networks = [
        train_network(seen[:, : len(inputs)], is_genuine, hidden=HIDDEN, seed=seed)
        for inputs in (OWN, FEATURES)
    ]
    return Score(np.concatenate(networks), int(is_genuine.sum()), int((~is_genuine).sum()))


def _pieces(
    parameters: ParameterSet, particles: Path, candidates: Path, fraction: float, threads: int | None
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
    """Yield features and class of the candidates, some events at a time."""
    pieces = tables_by_event(PARTICLES, particles, events=EVENTS_AT_ONCE, columns=list(_TRUTH))
    piece: pa.Table | None = next(pieces, None)
    for found in tables_by_event(CANDIDATES, candidates, events=EVENTS_AT_ONCE):
        found = found.filter(column(drawn(numbers(found["event"])) < fraction, pa.bool_()))
        if not len(found):
            continue
        number = found["event"][0].as_py() // EVENTS_AT_ONCE
        while piece is not None and piece["event"][0].as_py() // EVENTS_AT_ONCE < number:
            piece = next(pieces, None)
        if piece is None:
            raise ParkfError(f"{particles}: no particles of events from {number * EVENTS_AT_ONCE} on")
        purity = numbers(found["purity"])
        genuine = (purity >= GHOST_PURITY) & _wanted(found, piece)
        tracks = from_arrow(found.combine_chunks(), np.dtype(np.float32))
        fitted = cpu.fit(parameters, tracks, smoother=True, features=True, threads=threads)
        used = (genuine | (purity < GHOST_PURITY)) & is_good(fitted.status)
        yield np.stack([fitted.more[name] for name in FEATURES]).T[used], genuine[used]


def _wanted(found: pa.Table, particles: pa.Table) -> NDArray[np.bool_]:
    """Whether the particle with most hits is of the kind that the fits are validated with, (n,)."""
    columns = {name: numbers(particles[name]) for name in _TRUTH}
    key = particle_key({name: numbers(found[name]) for name in ("event", "particle")})
    known = particle_key(columns)
    order = np.argsort(known, kind="stable")
    row = order[np.minimum(np.searchsorted(known[order], key), len(known) - 1)]
    p2 = sum(columns[name][row] ** 2 for name in ("px", "py", "pz"))
    wanted: NDArray[np.bool_] = (known[row] == key) & (np.abs(columns["pdg_id"][row]) != _ELECTRON)
    return wanted & (p2 > _SOFTEST**2) & ~np.isfinite(columns["z_end"][row])


def train_network(features: F32, genuine: NDArray[np.bool_], *, hidden: int, seed: int) -> F32:
    """Train a network for the log odds that a row is genuine; both classes have the same total weight.

    Features are (n, m), and both classes (n,) must occur. `seed` determines the random start. Return the
    weights and the offset of each hidden unit, then the weights of the hidden units and a last offset,
    (hidden·(m + 1) + hidden + 1,). They apply to features that are not standardised.
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
        units = f @ rows[:, :m].T
        units += rows[:, m]
        np.maximum(units, 0, out=units)
        odds = units @ last + offset
        value += float((w * np.logaddexp(0, np.where(y, -odds, odds))).sum(dtype=np.float64))
        pull = w * (0.5 * (1 + np.tanh(0.5 * odds)) - y)
        gradient[-hidden - 1 : -1] += units.T @ pull
        gradient[-1] += pull.sum(dtype=np.float64)
        back = pull[:, None] * last
        back *= units > 0
        of_rows[:, :m] += back.T @ f
        of_rows[:, m] += np.einsum("ij->j", back, dtype=np.float64)
    return value + 0.5 * RIDGE * float(numbers @ numbers), gradient + RIDGE * numbers
