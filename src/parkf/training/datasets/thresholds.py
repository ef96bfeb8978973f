"""Thresholds of the lottery: found exactly and in little memory, however many chunks there are."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.io.npz import load_arrays
from parkf.training.datasets.sets import SETS, rows_of_set

Numbers = NDArray[np.uint64]

ALL = int(np.iinfo(np.uint64).max)
"""The threshold of a set that keeps all of its rows."""

_SHIFT = 48  # numbers fall into 2^16 bins by their leading bits


def find_thresholds(draws: Sequence[Path], path: Path, *, max_rows: int) -> None:
    """Find the k-th smallest number of each step and set, k the rows that it may keep.

    Parameters
    ----------
    draws : sequence of Path
        What :func:`parkf.training.datasets.lottery.draw` wrote for every chunk of every sample.
    path : Path
        JSON: ``max_rows``, and ``thresholds.<step>[]`` by set.
    max_rows : int
        Rows that a dataset keeps, as for the draws.

    Raises
    ------
    ParkfError
        When a file is missing or broken, or was drawn for other `max_rows`.
    """
    thresholds = {
        step: [
            _threshold(draws, f"{step}-{index}", max_rows, rows_of_set(step, max_rows))
            for index in range(count)
        ]
        for step, count in SETS.items()
    }
    write_sealed(path, {"max_rows": max_rows, "thresholds": thresholds})


def load_thresholds(path: Path) -> dict[str, Numbers]:
    """Read thresholds, (sets,) uint64 of each step.

    Raises
    ------
    ParkfError
        When the file is missing or lacks a set.
    """
    found = read_json(path).get("thresholds", {})
    for step, count in SETS.items():
        if len(found.get(step, ())) != count:
            raise ParkfError(
                f"{path}: {len(found.get(step, ()))} thresholds of step {step}, expected {count}"
            )
    return {step: np.array(numbers, np.uint64) for step, numbers in found.items()}


def _threshold(draws: Sequence[Path], name: str, max_rows: int, share: int) -> int:
    """Count numbers by their leading bits first, so that only those of one bin have to be sorted."""
    counts = np.zeros(1 << (64 - _SHIFT), np.int64)
    for numbers in _drawn(draws, name, max_rows):
        counts += np.bincount((numbers >> np.uint64(_SHIFT)).astype(np.int64), minlength=len(counts))
    upto = np.cumsum(counts)
    if upto[-1] <= share:
        return ALL
    bin_of_it = int(np.searchsorted(upto, share))
    rank = share - int(upto[bin_of_it] - counts[bin_of_it])
    inside = [
        numbers[(numbers >> np.uint64(_SHIFT)) == bin_of_it] for numbers in _drawn(draws, name, max_rows)
    ]
    return int(np.sort(np.concatenate(inside))[rank - 1])


def _drawn(draws: Sequence[Path], name: str, max_rows: int) -> Iterator[Numbers]:
    for path in draws:
        arrays = load_arrays(path, ("max_rows", name), others=True)
        drawn_for, numbers = int(arrays["max_rows"]), arrays[name]
        if drawn_for != max_rows:
            raise ParkfError(f"{path}: drawn for {drawn_for} rows a dataset, expected {max_rows}; draw again")
        yield numbers
