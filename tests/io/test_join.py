"""Joining all chunks of a table gives the same bytes as a file written at once."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from parkf.io.errors import ParkfError
from parkf.io.tables import FITTED, HITS, PARTICLES, gather


def rows(table, count):
    random = np.random.default_rng(count)
    columns = [pa.array(random.integers(0, 100, count)).cast(kind) for _, kind in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def write(table, path, content, made_with=None):
    with table.writer(path, made_with) as writer:
        writer.write_table(content)
    return path


@pytest.mark.parametrize("table", [PARTICLES, FITTED], ids=str)
def test_bytes_do_not_depend_on_the_number_of_chunks(tmp_path, table):
    content, made_with = rows(table, 200_000), {"parkf.set.constant": "1234"}
    whole = write(table, tmp_path / "whole.parquet", content, made_with)
    for bounds in ([0, 200_000], [0, 30_000, 150_000, 200_000], [0, 0, 131_072, 200_000]):
        parts = [
            write(table, tmp_path / f"{number}.parquet", content.slice(begin, end - begin), made_with)
            for number, (begin, end) in enumerate(pairwise(bounds))
        ]
        gather(parts, tmp_path / "gathered.parquet")
        assert (tmp_path / "gathered.parquet").read_bytes() == whole.read_bytes()


def test_chunks_that_do_not_belong_together_are_refused(tmp_path):
    one = write(HITS, tmp_path / "one.parquet", rows(HITS, 5))
    gathered = tmp_path / "gathered.parquet"
    for other in (
        write(HITS, tmp_path / "set.parquet", rows(HITS, 5), {"parkf.set.constant": "1234"}),
        write(PARTICLES, tmp_path / "table.parquet", rows(PARTICLES, 5)),
    ):
        with pytest.raises(ParkfError, match=rf"{other.name}: columns, or what .* differ from"):
            gather([one, other], gathered)
    unknown = write(replace(HITS, name="hit"), tmp_path / "unknown.parquet", rows(HITS, 5))
    with pytest.raises(ParkfError, match=r"unknown\.parquet: table 'hit 1', expected one of particles, "):
        gather([unknown], gathered)
    with pytest.raises(ParkfError, match=r"gone\.parquet: no such file"):
        gather([one, tmp_path / "gone.parquet"], gathered)
    assert not gathered.exists()
