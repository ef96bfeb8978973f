"""No row that is stored on disk is lost, and memory holds one block of rows."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from toy_steps import STEPS, draw, groups_of_sets, store, truth, write

from parkf.io.errors import ParkfError
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS
from parkf.training.rows import (
    BLOCK,
    GROUPS,
    KEPT,
    StoredRows,
    group_of_event,
    group_of_particle,
    read_batches,
    select,
    store_sets,
)


def test_no_row_is_lost(tmp_path):
    rows = draw("UT", 3 * BLOCK, 1, truth("UT"))
    stored = store(rows, "UT", tmp_path)
    assert sum(map(len, stored)) == 3 * BLOCK
    for number, one in enumerate(stored):
        blocks = list(one.blocks())
        assert max(len(block["qop"]) for block in blocks) <= BLOCK
        for name in set(KEPT) - {"group"}:
            got = np.concatenate([block[name] for block in blocks])
            np.testing.assert_array_equal(got, rows[name][rows["set"] == number])


def test_sets_are_joined(tmp_path):
    rows = draw("T", 2200, 1, truth("T"))
    stored = store(rows, "T", tmp_path)
    assert [len(one) for one in stored] == [200] * len(STEPS["T"].sets)
    # In a dataset the two sets of a gap, above and below the beam, follow each other.
    for number, one in enumerate(stored):
        of_gap = np.isin(rows["set"], [2 * number, 2 * number + 1])
        got = np.concatenate([block["qop"] for block in one.blocks()])
        np.testing.assert_array_equal(got, rows["qop"][of_gap])


def test_sample_is_spread_over_all_rows(tmp_path):
    rows = draw("TFT", 20_000, 1, truth("TFT")) | {"p_true": np.arange(20_000.0)}
    one = store(rows, "TFT", tmp_path)[0]
    sample = one.sample(6000)
    np.testing.assert_array_equal(sample["p_true"], np.arange(0, 20_000, 4))
    assert len(one.sample(20_000)["qop"]) == 20_000


def test_groups():
    random = np.random.default_rng(1)
    rows = {"event": random.integers(0, 10_000, 100_000), "particle": random.integers(0, 30, 100_000)}
    rows["polarity"] = random.choice([-1.0, 1.0], 100_000)
    group = group_of_particle(rows)
    counts = np.bincount(group, minlength=GROUPS)
    assert len(counts) == GROUPS
    # The counts are Poisson around 24, except for particles that were drawn more than once.
    assert 20 < counts.var() < 32
    again = group_of_particle({name: column[::-1] for name, column in rows.items()})
    np.testing.assert_array_equal(again[::-1], group)


def test_rows_of_an_event_are_in_one_group_unless_all_are_of_few_events():
    random = np.random.default_rng(1)
    rows = {"event": np.repeat(np.arange(5000), 20), "particle": np.tile(np.arange(20), 5000)}
    rows["polarity"] = np.where(rows["event"] % 2, -1.0, 1.0)
    group = group_of_event(rows).reshape(5000, 20)
    assert (group == group[:, :1]).all()
    assert len(np.unique(group[:, 0])) > 0.65 * GROUPS
    gun = {"event": np.zeros(5000, np.int64), "particle": random.permutation(5000), "polarity": np.ones(5000)}
    assert len(np.unique(group_of_event(gun))) > 0.65 * GROUPS


def test_memory_does_not_grow_with_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("parkf.training.rows.BATCH", 2000)
    monkeypatch.setattr("parkf.training.rows.BLOCK", 500)
    peaks = []
    for count in (10_000, 100_000):
        path = write(draw("TFT", count, 1, truth("TFT")), tmp_path / f"{count}.parquet")
        tracemalloc.start()
        (stored,) = store_sets(read_batches(path), range(1), 1, tmp_path)
        stored.sample(1000)
        for _ in stored.blocks():
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_blocks_do_not_depend_on_how_rows_came(tmp_path):
    rows = draw("TFT", 2 * BLOCK + 100, 1, truth("TFT"))
    edges = [0, 10, BLOCK + 500, 2 * BLOCK + 100]
    pieces = [select(rows, np.arange(low, high)) for low, high in pairwise(edges)]
    (whole,), (pieced,) = (store_sets(batches, range(1), 1, tmp_path) for batches in ([rows], pieces))
    assert len(whole) == len(pieced) == 2 * BLOCK + 100
    assert [len(block["qop"]) for block in pieced.blocks()] == [BLOCK, BLOCK, 100]
    for one, other in zip(whole.blocks(), pieced.blocks(), strict=True):
        for name in KEPT:
            np.testing.assert_array_equal(one[name], other[name])


def test_changed_rows_are_the_same_whoever_changes_them(tmp_path, monkeypatch):
    """Of the rows, some are left out, so that blocks behind do not end where blocks before do."""
    monkeypatch.setattr("parkf.training.rows.BLOCK", 100)
    monkeypatch.setattr("parkf.training.rows.STRIPE", 2)
    number = np.arange(1040.0)
    columns = dict.fromkeys(KEPT, number)
    for workers in (1, 3):
        stored = StoredRows(tmp_path / str(workers), workers=workers)
        stored.append(columns)
        changed = stored.changed(
            lambda rows: select(rows | dict.fromkeys(BEFORE_COLUMNS, -rows["qop"]), rows["qop"] % 7 > 0),
        )
        blocks = list(changed.blocks())
        assert [len(block["qop"]) for block in blocks] == [100] * 8 + [91]
        for name in (*KEPT, *BEFORE_COLUMNS):
            got = np.concatenate([block[name] for block in blocks])
            np.testing.assert_array_equal(abs(got), number[number % 7 > 0])


def test_more_rows_lie_behind(tmp_path):
    rows = StoredRows(tmp_path / "rows")
    rows.append(dict.fromkeys(KEPT, np.arange(BLOCK - 10.0)))
    more = rows.with_rows(dict.fromkeys(KEPT, np.arange(BLOCK - 10.0, BLOCK + 10)))
    for each, count in ((rows, BLOCK - 10), (more, BLOCK + 10)):
        got = np.concatenate([block["group"] for block in each.blocks()])
        np.testing.assert_array_equal(got, np.arange(count))


@pytest.fixture
def by_set(tmp_path):
    """A dataset whose row groups hold one set each; the fourth group has a NaN."""
    rows = draw("UT", 600, 1, truth("UT"))
    rows["xe"][rows["set"] == 3] = np.nan
    return write(rows, tmp_path / "UT.parquet", *groups_of_sets(rows))


def test_row_groups_of_other_sets_are_not_read(by_set):
    for sets in (range(3), range(4, 6)):
        (rows,) = read_batches(by_set, sets)
        assert set(rows["set"]) == set(sets)


def test_of_a_large_dataset_some_row_groups_are_read(by_set):
    (whole,) = read_batches(by_set, range(3), most=300)
    assert set(whole["set"]) == {0, 1, 2}
    sets = [set(rows["set"]) for rows in read_batches(by_set, range(3), most=150)]
    assert sets == [{0}, {2}]


def test_row_numbers_are_the_files(by_set):
    with pytest.raises(ParkfError, match=r"column 'xe' row 300: nan"):
        list(read_batches(by_set, range(2, 5)))
