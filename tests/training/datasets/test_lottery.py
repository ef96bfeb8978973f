"""Thresholds found from chunks are exactly those of all numbers at once."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parkf.training.datasets.legs import SETS
from parkf.training.datasets.lottery import ALL, Smallest, find_thresholds, load_thresholds, rows_of_set

NUMBERS = st.integers(0, 2**64 - 1) | st.integers(0, 50) | st.integers(2**63, 2**63 + 50)


def write_draws(path, drawn, max_rows):
    """Write the file of a chunk that drew the same numbers for every set."""
    arrays = {}
    for step, count in SETS.items():
        for index in range(count):
            smallest = Smallest(rows_of_set(step, max_rows) + 1)
            for part in np.array_split(np.array(drawn, np.uint64), 3):
                smallest.add(part)
            arrays[f"{step}-{index}"] = smallest.ascending()
    np.savez(path, **arrays)
    return path


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chunks=st.lists(st.lists(NUMBERS, max_size=60), min_size=1, max_size=4), max_rows=st.integers(22, 150))
def test_thresholds_are_the_exact_ones(tmp_path, chunks, max_rows):
    draws = [write_draws(tmp_path / f"{i}.npz", drawn, max_rows) for i, drawn in enumerate(chunks)]
    find_thresholds(draws, tmp_path / "thresholds.json", max_rows=max_rows)
    found = load_thresholds(tmp_path / "thresholds.json")
    everything = np.sort(np.array([number for drawn in chunks for number in drawn], np.uint64))
    for step, count in SETS.items():
        share = rows_of_set(step, max_rows)
        expected = everything[share - 1] if len(everything) > share else np.uint64(ALL)
        assert (found[step] == expected).all()
        assert len(found[step]) == count


@given(parts=st.lists(st.lists(NUMBERS, max_size=30), max_size=8), most=st.integers(1, 40))
def test_a_chunk_keeps_its_smallest_numbers(parts, most):
    smallest = Smallest(most)
    for part in parts:
        smallest.add(np.array(part, np.uint64))
    expected = sorted(number for part in parts for number in part)[:most]
    assert smallest.ascending().tolist() == expected
