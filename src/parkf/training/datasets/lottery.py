"""Selection of the rows to keep: those that draw the smallest random numbers, over all samples.

The number of a leg is a hash of polarity, event, particle and plane. Each chunk of a sample writes its
smallest numbers, as many as could be kept if there were no other chunk. From these
:mod:`parkf.training.datasets.thresholds` finds the threshold below which rows are kept.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Beam
from parkf.io.files import replacing
from parkf.io.terminal import progress_bar
from parkf.training.datasets.pieces import EVENTS_PER_PIECE, Piece, read_pieces
from parkf.training.datasets.sets import SETS, rows_of_set

Numbers = NDArray[np.uint64]


def lottery(piece: Piece) -> Numbers:
    """Draw a uniform 64-bit number for each state that a leg may start from (SplitMix64)."""
    number = np.full(len(piece.row), piece.polarity, np.int64).view(np.uint64)
    for name in ("event", "particle", "plane"):
        number = _mixed(number ^ piece.states[name].astype(np.uint64))
    return number


def draw(particles: Path, states: Path, path: Path, *, beam: Beam, max_rows: int) -> None:
    """Write the smallest numbers that a chunk's legs draw.

    Parameters
    ----------
    particles, states : Path
        Tables PARTICLES and STATES of the chunk.
    path : Path
        An archive of NumPy's: ``<step>-<set>``, (k,) uint64 ascending, and ``max_rows``.
    max_rows : int
        Rows that a dataset keeps, divided equally among the step's parameter sets.

    Raises
    ------
    ParkfError
        When files cannot be read or do not belong together.
    """
    # With one number more than may be kept, it is known whether all rows may be kept.
    smallest = {
        (step, index): Smallest(rows_of_set(step, max_rows) + 1)
        for step in SETS
        for index in range(SETS[step])
    }
    with progress_bar("lottery", "events") as bar:
        for piece in read_pieces(particles, states, beam):
            numbers = lottery(piece)
            for step, legs in piece.legs.items():
                drawn = numbers[legs.origin]
                for index in range(SETS[step]):
                    smallest[step, index].add(drawn[legs.set == index])
            bar.update(EVENTS_PER_PIECE)
    arrays = {f"{step}-{index}": each.ascending() for (step, index), each in smallest.items()}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, max_rows=np.array(max_rows), **arrays)


class Smallest:
    """The `most` smallest of all numbers that are added; memory holds little more."""

    def __init__(self, most: int) -> None:
        self._most = most
        # Room for some more than wanted, so that most calls need no sorting. The system provides its memory
        # as numbers come.
        self._numbers: Numbers = np.empty(most + most // 16 + 1, np.uint64)
        self._count = 0
        self._bound = np.uint64(np.iinfo(np.uint64).max)

    def add(self, numbers: Numbers) -> None:
        """Add numbers (n,)."""
        numbers = numbers[numbers <= self._bound]
        while len(numbers):
            taken = numbers[: len(self._numbers) - self._count]
            self._numbers[self._count : self._count + len(taken)] = taken
            self._count += len(taken)
            if self._count == len(self._numbers):
                self._numbers.partition(self._most - 1)
                self._count, self._bound = self._most, self._numbers[self._most - 1]
            numbers = numbers[len(taken) :]

    def ascending(self) -> Numbers:
        """Return the smallest numbers, (`most`,) or all that there are, as a view."""
        self._numbers[: self._count].sort()
        return self._numbers[: min(self._count, self._most)]


def _mixed(number: Numbers) -> Numbers:
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
