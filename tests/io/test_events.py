from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parkf.io.errors import ParkfError
from parkf.io.events import count_events, read_by_event
from parkf.io.tables import HITS


def _write(path, events, rows_per_group):
    columns = {name: np.zeros(len(events), kind.to_pandas_dtype()) for name, kind in HITS.columns}
    columns["event"] = np.asarray(events, np.int32)
    columns["x"] = np.arange(len(events), dtype=float)
    with replace(HITS, rows_in_group=rows_per_group).writer(path) as writer:
        writer.write_table(pa.table(columns, schema=HITS.schema))


@pytest.fixture(autouse=True, scope="module")
def a_few_rows_at_once():
    """Files are read in many batches, as long ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parkf.io.events._ROWS_AT_ONCE", 3)
        yield


@settings(max_examples=30, deadline=None)
@given(
    events=st.lists(st.integers(0, 40), min_size=1, max_size=200).map(sorted),
    rows_per_group=st.integers(1, 50),
    length=st.integers(1, 15),
    fewest=st.integers(0, 40),
)
def test_pieces_hold_whole_events_and_lose_nothing(tmp_path_factory, events, rows_per_group, length, fewest):
    path = tmp_path_factory.mktemp("hits") / "hits.parquet"
    _write(path, events, rows_per_group)
    pieces = list(read_by_event(HITS, path, events=length, rows=fewest))
    assert np.array_equal(np.concatenate([piece["x"] for piece in pieces]), np.arange(len(events)))
    numbers = [np.unique(piece["event"] // length) for piece in pieces]
    assert np.all(np.diff(np.concatenate(numbers)) > 0)
    for piece, number in zip(pieces, numbers, strict=True):
        assert count_events(piece) == len(np.unique(piece["event"]))
        # Without the last events of a joined piece, there would be too few rows.
        joined = np.flatnonzero(piece["event"] // length == number[-1])[0]
        assert len(number) == 1 or joined < fewest
    assert all(len(piece["event"]) >= fewest for piece in pieces[:-1])


@pytest.mark.parametrize(("events", "rows_per_group"), [([0, 2, 1], 10), ([5, 6, 7, 6, 8, 9], 3)])
def test_unsorted_events_are_refused(tmp_path, events, rows_per_group):
    _write(tmp_path / "hits.parquet", events, rows_per_group)
    with pytest.raises(ParkfError, match="not sorted by event"):
        list(read_by_event(HITS, tmp_path / "hits.parquet", events=1))


def test_an_empty_table_has_no_pieces(tmp_path):
    _write(tmp_path / "hits.parquet", [], 10)
    assert list(read_by_event(HITS, tmp_path / "hits.parquet", events=5)) == []
