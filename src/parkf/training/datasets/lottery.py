"""Selection of the rows to keep: the rows with the smallest random numbers, over all samples.

The number of a leg is a hash of polarity, event, particle and plane. Each chunk of a sample writes its
smallest numbers, as many as could be kept if it were the only chunk. These numbers determine the thresholds
below which rows are kept. The thresholds are exact and need little memory for any number of chunks.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Beam
from parkf.io.files import read_json, replacing, write_sealed
from parkf.io.npz import load_arrays
from parkf.io.terminal import progress_bar
from parkf.training.datasets.legs import EVENTS_PER_PIECE, SETS, Piece, read_pieces

Numbers = NDArray[np.uint64]

ALL = int(np.iinfo(np.uint64).max)
"""The threshold of a set that keeps all of its rows."""


def rows_of_set(step: str, max_rows: int) -> int:
    """Rows that each parameter set of a step may keep, of `max_rows` in its dataset."""
    return max_rows // SETS[step]


def lottery(piece: Piece) -> Numbers:
    """Draw a uniform 64-bit number for each state that a leg may start from (SplitMix64)."""
    number = np.full(len(piece.row), piece.polarity, np.int64).view(np.uint64)
    for name in ("event", "particle", "plane"):
        number = (number ^ piece.states[name].astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        number = number ^ (number >> np.uint64(31))
    return number


def draw(particles: Path, states: Path, path: Path, *, beam: Beam, max_rows: int) -> None:
    """Write the smallest numbers that a chunk's legs draw, from its tables PARTICLES and STATES.

    The file at `path` is an archive of NumPy's: ``<step>-<set>``, (k,) uint64 ascending. `max_rows` is the
    number of rows that a dataset keeps, divided equally among the step's parameter sets.
    """
    # One number more than may be kept is written. It shows whether all rows may be kept.
    smallest = {(step, i): Smallest(rows_of_set(step, max_rows) + 1) for step, i in _every_set()}
    with progress_bar("lottery", "events") as bar:
        for piece in read_pieces(particles, states, beam):
            numbers = lottery(piece)
            for step, (origin, _, number) in piece.legs.items():
                for index in range(SETS[step]):
                    smallest[step, index].add(numbers[origin[number == index]])
            bar.update(EVENTS_PER_PIECE)
    arrays = {f"{step}-{index}": each.ascending() for (step, index), each in smallest.items()}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


class Smallest:
    """The `most` smallest of all numbers that are added; memory holds little more."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: Numbers = np.empty(0, np.uint64)
        self._bound = np.uint64(ALL)

    def add(self, numbers: Numbers) -> None:
        """Add numbers (n,)."""
        self._numbers = np.concatenate([self._numbers, numbers[numbers <= self._bound]])
        # Some more may wait, so that most calls need no sorting.
        if len(self._numbers) > self._most + self._most // 16:
            self._numbers = np.partition(self._numbers, self._most - 1)[: self._most]
            self._bound = self._numbers[-1]

    def ascending(self) -> Numbers:
        """Return the smallest numbers, (`most`,) or all that there are."""
        return np.sort(self._numbers)[: self._most]


def find_thresholds(draws: Sequence[Path], path: Path, *, max_rows: int) -> None:
    """Find the k-th smallest number of each step and set, where k is the number of rows that it may keep.

    `draws` are the files that :func:`draw` wrote for every chunk of every sample. The JSON at `path` has
    ``max_rows``, and ``thresholds.<step>[]`` by set.
    """
    thresholds: dict[str, list[int]] = {step: [] for step in SETS}
    for step, i in _every_set():
        smallest = Smallest(rows_of_set(step, max_rows) + 1)
        for numbers in _drawn(draws, f"{step}-{i}"):
            smallest.add(numbers)
        kept = smallest.ascending()
        thresholds[step].append(int(kept[-2]) if len(kept) > rows_of_set(step, max_rows) else ALL)
    write_sealed(path, {"max_rows": max_rows, "thresholds": thresholds})


def load_thresholds(path: Path) -> dict[str, Numbers]:
    """Read the thresholds of each step, (sets,) uint64."""
    thresholds = read_json(path)["thresholds"]
    return {step: np.array(numbers, np.uint64) for step, numbers in thresholds.items()}


def _every_set() -> list[tuple[str, int]]:
    return [(step, i) for step, count in SETS.items() for i in range(count)]


def _drawn(draws: Sequence[Path], name: str) -> Iterator[NDArray[Any]]:
    for path in draws:
        yield load_arrays(path, (name,), others=True)[name]
