"""Neither the number of processes nor the order of row groups changes a fit."""

import numpy as np
import pytest
from toy_steps import STEPS, draw, groups_of_sets, truth, write

from parkf.training.rows import select
from parkf.training.train import train_step


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write(draw("UT", 6000, 3, truth("UT")), tmp_path_factory.mktemp("parts") / "UT.parquet")


@pytest.mark.parametrize("step", ["V", "T"])
def test_any_number_of_processes_gives_the_same_bytes(step, tmp_path, monkeypatch):
    """Row groups hold rows of all sets, and hardly any begins where a block does."""
    rows = draw(step, 8800, 3, truth(step))
    path = tmp_path / "rows.parquet"
    write(rows, path, *(np.arange(begin, min(begin + 700, 8800)) for begin in range(0, 8800, 700)))
    displaced = None
    if STEPS[step].displaced:
        others = draw(step, 2200, 4, truth(step)) | {"group": np.zeros(2200)}
        of_gap = others["set"] // STEPS[step].joined
        displaced = [select(others, of_gap == gap) for gap in range(len(STEPS[step].sets))]
    monkeypatch.setattr("parkf.training.rows.BLOCK", 150)
    monkeypatch.setattr("parkf.training.rows.STRIPE", 3)
    one, several = (
        train_step(path, step, forms="improved", displaced=displaced, workers=workers) for workers in (1, 3)
    )
    assert one == several


def test_rows_sorted_by_set_give_the_same(dataset, tmp_path):
    """Row groups of one set each: the rows of a set are the same, in the same order."""
    rows = draw("UT", 6000, 3, truth("UT"))
    write(rows, tmp_path / "sorted.parquet", *groups_of_sets(rows))
    one, other = (
        train_step(path, "UT", forms="improved").sets for path in (dataset, tmp_path / "sorted.parquet")
    )
    assert one == other
