"""A step trained in parts is the step trained at once, byte for byte."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from toy_steps import STEPS, draw, groups_of_sets, truth, write

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.gather import RowsBySet, gather_rows
from parkf.training.result import FitResult, Part, PartResult, join_parts
from parkf.training.rows import select
from parkf.training.train import train_part, train_step


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write(draw("UT", 6000, 3, truth("UT")), tmp_path_factory.mktemp("parts") / "UT.parquet")


@pytest.fixture(scope="module")
def parts(dataset):
    return [train_part([dataset], "UT", Part(number, 3), forms="improved") for number in (1, 2, 3)]


def test_parts_give_the_bytes_of_the_whole(dataset, parts, tmp_path):
    stored = []
    for number, part in enumerate(parts):
        part.save(tmp_path / f"{number}.json")
        stored.append(PartResult.load(tmp_path / f"{number}.json"))
    join_parts(stored[::-1], dataset).save(tmp_path / "joined.json")
    train_step(dataset, "UT", forms="improved").save(tmp_path / "whole.json")
    assert (tmp_path / "joined.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_any_number_of_processes_gives_the_same_bytes(tmp_path, monkeypatch):
    """Row groups hold rows of all sets, and hardly any begins where a block does."""
    step = STEPS["T"]
    rows = draw(step.name, 8800, 3, truth(step.name))
    path = tmp_path / "rows.parquet"
    write(rows, path, *(np.arange(begin, min(begin + 700, 8800)) for begin in range(0, 8800, 700)))
    others = draw(step.name, 2200, 4, truth(step.name)) | {"group": np.zeros(2200)}
    gaps = others["set"] // step.joined
    displaced = [select(others, gaps == gap) for gap in range(len(step.sets))]
    monkeypatch.setattr("parkf.training.rows.BLOCK", 150)
    monkeypatch.setattr("parkf.training.rows.STRIPE", 3)
    given = {"forms": "improved", "displaced": displaced}
    one, several = (train_part([path], "T", Part(2, 4), workers=workers, **given) for workers in (1, 3))
    assert one == several


def test_rows_sorted_by_set_give_the_same(dataset, tmp_path):
    """Row groups of one set each: the rows of a set are the same, in the same order."""
    rows = draw("UT", 6000, 3, truth("UT"))
    write(rows, tmp_path / "sorted.parquet", *groups_of_sets(rows))
    one, other = (
        train_part([path], "UT", Part(2, 3), forms="improved").sets
        for path in (dataset, tmp_path / "sorted.parquet")
    )
    assert one == other


def test_parts_of_the_chunks_give_the_bytes_of_the_whole(tmp_path):
    """Chunks are read without being joined, and any process may read any part of them."""
    rows = draw("UT", 6000, 3, truth("UT"))
    chunks = []
    for number in range(3):
        chunks.append(tmp_path / f"{number}.parquet")
        with STEP_DATA.writer(chunks[-1]) as writer:
            sorter = RowsBySet(writer, "UT")
            sorter.add(select(rows, np.arange(6000) * 3 // 6000 == number))
            sorter.finish()
    gather_rows(chunks, tmp_path / "UT.parquet", "UT")
    parts = [
        train_part(chunks, "UT", Part(number, 2), forms="improved", workers=workers)
        for number, workers in ((1, 1), (2, 2))
    ]
    whole = train_step(tmp_path / "UT.parquet", "UT", forms="improved")
    assert join_parts(parts, tmp_path / "UT.parquet", workers=2) == whole
    with pytest.raises(ParkfError, match=r"UT\.parquet: not the dataset"):
        join_parts([train_part(chunks[:2], "UT", Part(1, 1), forms="improved")], tmp_path / "UT.parquet")


def test_parts_are_balanced_and_none_is_lost():
    for count in range(1, 12):
        ranges = [Part(number, count).of(STEPS["T"]) for number in range(1, count + 1)]
        assert [number for one in ranges for number in one] == list(range(len(STEPS["T"].sets)))
        assert max(map(len, ranges)) - min(map(len, ranges)) <= 1


def test_names_of_parts():
    assert Part.parse("2-of-5") == Part(2, 5)
    for name in ("0-of-5", "6-of-5", "2of5", "2-of-5\n", "all"):
        with pytest.raises(ParkfError, match="expected <number>-of-<count>, such as 2-of-5"):
            Part.parse(name)


def test_more_parts_than_sets(dataset):
    with pytest.raises(ParkfError, match="step UT: 7 parts, expected at most 6, one for each parameter set"):
        train_part([dataset], "UT", Part(1, 7), forms="improved")


def test_a_part_that_is_missing_or_there_twice(dataset, parts):
    for wrong in (parts[1:], [*parts, parts[0]]):
        with pytest.raises(ParkfError, match=r"parts of step UT: hold sets .*, expected each of \[0, 1,"):
            join_parts(wrong, dataset)


@pytest.mark.parametrize("other", ["seed", "alignment"])
def test_parts_of_another_dataset(parts, tmp_path, other):
    """With another alignment, tracks have the same momenta and other states."""
    rows = draw("UT", 6000, 4 if other == "seed" else 3, truth("UT"))
    rows["x1"] = rows["x1"] + (0.1 if other == "alignment" else 0.0)
    other = write(rows, tmp_path / "UT.parquet")
    with pytest.raises(ParkfError, match=r"UT\.parquet: not the dataset that the parts of step UT were"):
        join_parts(parts, other)


def test_a_damaged_column_that_no_fit_reads(dataset, parts, tmp_path):
    """The bytes of such a column count for the fingerprint of the dataset."""
    damaged = tmp_path / "V.parquet"
    content = bytearray(dataset.read_bytes())
    group = pq.read_metadata(dataset).row_group(0)
    column = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == "pdg_id")
    content[column.data_page_offset + column.total_compressed_size // 2] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"V\.parquet: not a Parquet file as it was written"):
        join_parts(parts, damaged)


def test_parts_that_were_fitted_differently(dataset, parts):
    other = parts[0].model_copy(update={"formula": "0" * 16})
    with pytest.raises(ParkfError, match="parts of step UT: different formula"):
        join_parts([other, *parts[1:]], dataset)


def test_a_part_is_no_whole_fit(parts, tmp_path):
    parts[0].save(tmp_path / "UT.json")
    with pytest.raises(ParkfError, match="fit the step again"):
        FitResult.load(tmp_path / "UT.json")
