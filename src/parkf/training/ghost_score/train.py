"""Training of the ghost score on candidates of the training sample."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf.fit import cpu
from parkf.fit.candidates import from_arrow
from parkf.fit.sample import GHOST_PURITY, drawn
from parkf.fit.truth import EVENTS_AT_ONCE
from parkf.io.arrow import column, numbers
from parkf.io.errors import ParkfError
from parkf.io.events import particle_key, tables_by_event
from parkf.io.tables import CANDIDATES, PARTICLES
from parkf.params.ghost_score import FEATURES, HIDDEN, OWN, Score
from parkf.params.parameter_set import ParameterSet
from parkf.training.ghost_score.network import train

# Largest number of candidates that a score is trained on; of a larger sample, only some events are used. It
# is twice what `CROSSINGS` contain in Run 3.
MOST = 160_000
_ENOUGH = 500  # of either kind
_ELECTRON, _SOFTEST = 11, 2000.0  # MeV
_TRUTH = ("event", "particle", "pdg_id", "px", "py", "pz", "z_end")


def train_score(
    parameters: ParameterSet, files: Sequence[tuple[Path, Path]], *, seed: int, threads: int | None = None
) -> Score:
    """Train the score of a parameter set, on files that are never those of the validation.

    The files are those of the particles and of the candidates of each sample or chunk, in the order of
    events. Genuine is defined as in the validation: one particle, no electron, above 2 GeV, made at least 70%
    of the hits. A ghost is a candidate of which no particle made that fraction. All others, and failed fits,
    are left out. The seed is that of the networks' random start. The result does not depend on `threads`, the
    number of cores of the fits. A ParkfError is raised when a file is missing or broken, or there are fewer
    than 500 of either kind.
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
        train(seen[:, : len(inputs)], is_genuine, hidden=HIDDEN, seed=seed) for inputs in (OWN, FEATURES)
    ]
    return Score(np.concatenate(networks), *kinds.values())


def _pieces(
    parameters: ParameterSet, particles: Path, candidates: Path, fraction: float, threads: int | None
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
    """Yield features and class of the candidates that are used, some events at a time."""
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
        fitted, seen = cpu.fit_features(
            parameters, from_arrow(found.combine_chunks(), np.dtype(np.float32)), threads=threads
        )
        used = (genuine | (purity < GHOST_PURITY)) & (fitted.status == 0)
        yield seen.T[used], genuine[used]


def _wanted(found: pa.Table, particles: pa.Table) -> NDArray[np.bool_]:
    """Whether the particle with most hits is one that the fits are validated with, (n,)."""
    columns = {name: numbers(particles[name]) for name in _TRUTH}
    key = particle_key({name: numbers(found[name]) for name in ("event", "particle")})
    known = particle_key(columns)
    order = np.argsort(known, kind="stable")
    row = order[np.minimum(np.searchsorted(known[order], key), len(known) - 1)]
    p2 = sum(columns[name][row] ** 2 for name in ("px", "py", "pz"))
    wanted: NDArray[np.bool_] = (known[row] == key) & (np.abs(columns["pdg_id"][row]) != _ELECTRON)
    return wanted & (p2 > _SOFTEST**2) & ~np.isfinite(columns["z_end"][row])
