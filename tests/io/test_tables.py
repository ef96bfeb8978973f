from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, CLOSURE_TRACKS, FATES, FITTED, HITS, PARTICLES, STATES, STEP_DATA


def _one_row(table):
    return pa.table({name: pa.nulls(1, kind) for name, kind in table.columns}, schema=table.schema)


@pytest.mark.parametrize("table", [PARTICLES, STATES, CANDIDATES, STEP_DATA], ids=lambda table: table.name)
def test_a_written_table_opens_and_another_kind_is_refused(tmp_path, table):
    path = tmp_path / "rows.parquet"
    with table.writer(path) as writer:
        writer.write_table(_one_row(table))
    assert table.open(path).metadata.num_rows == 1
    other = STATES if table is not STATES else PARTICLES
    with pytest.raises(ParkfError, match=f"rows.parquet: table '{table.name} 1', expected '{other.name} 1'"):
        other.open(path)


def test_a_missing_or_mistyped_column_is_named(tmp_path):
    whole = _one_row(STATES)
    for broken, message in (
        (whole.drop_columns(["tx"]), "column 'tx' is missing"),
        (
            whole.set_column(0, "event", pa.nulls(1, pa.float64())),
            "column 'event' has type double, expected int32",
        ),
    ):
        pq.write_table(broken.replace_schema_metadata(STATES.schema.metadata), tmp_path / "broken.parquet")
        with pytest.raises(ParkfError, match=message):
            STATES.open(tmp_path / "broken.parquet")


@pytest.mark.parametrize(
    "table", [CANDIDATES, CLOSURE_TRACKS, FATES, FITTED, HITS, PARTICLES, STATES, STEP_DATA]
)
def test_files_of_the_first_version_are_read_and_no_others(tmp_path, table):
    """What is written today must be read tomorrow; another version has other columns or units."""
    for version in (0, 1, 2):
        schema = table.schema.with_metadata({"parkf.table": f"{table.name} {version}"})
        pq.write_table(schema.empty_table(), tmp_path / "one.parquet")
        if version == 1:
            assert table.open(tmp_path / "one.parquet").read().num_rows == 0
        else:
            with pytest.raises(ParkfError, match=f"{table.name} {version}"):
                table.open(tmp_path / "one.parquet")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.integers(0, 60), max_size=12))
def test_bytes_do_not_depend_on_the_pieces_that_rows_come_in(tmp_path, pieces):
    table = replace(CANDIDATES, rows_in_group=50)
    count = sum(pieces)
    random = np.random.default_rng(count)
    columns = [
        pa.FixedSizeListArray.from_arrays(
            random.normal(size=count * kind.list_size).astype(np.float32), kind.list_size
        )
        if pa.types.is_fixed_size_list(kind)
        else pa.array(random.integers(0, 100, count)).cast(kind)
        for _, kind in table.columns
    ]
    rows = pa.Table.from_arrays(columns, schema=table.schema)
    with table.writer(tmp_path / "at_once.parquet") as writer:
        writer.write_table(rows)
    with table.writer(tmp_path / "pieces.parquet") as writer:
        for begin, length in zip(np.cumsum([0, *pieces]), pieces, strict=False):
            writer.write_table(rows.slice(begin, length))
    assert (tmp_path / "at_once.parquet").read_bytes() == (tmp_path / "pieces.parquet").read_bytes()
    file = table.open(tmp_path / "pieces.parquet")
    assert file.read().equals(rows)
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert groups == [50] * (count // 50) + ([count % 50] if count % 50 else [])


def test_a_flush_ends_a_row_group(tmp_path):
    with STATES.writer(tmp_path / "rows.parquet") as writer:
        for _ in range(2):
            writer.write_table(_one_row(STATES))
            writer.flush()
    assert STATES.open(tmp_path / "rows.parquet").num_row_groups == 2
