from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parkf.errors import ParkfError
from parkf.tables import CANDIDATES, PARTICLES, STATES, STEP_DATA


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


def test_text_is_no_table(tmp_path):
    (tmp_path / "text.parquet").write_text("not Parquet")
    with pytest.raises(ParkfError, match=r"text\.parquet: not a Parquet file"):
        STATES.open(tmp_path / "text.parquet")


def test_an_interrupted_writer_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), STATES.writer(tmp_path / "rows.parquet") as writer:
        writer.write_table(_one_row(STATES))
        raise RuntimeError("killed half-way")
    assert list(tmp_path.iterdir()) == []


def test_content_says_what_is_in_a_file_and_nothing_of_how():
    """What rules of the workflow depend on: a change of a column makes its files again."""
    assert PARTICLES.content.startswith("particles 1: event int32, particle int32, collision int16, ")
    assert PARTICLES.content.endswith("z_end double")
    contents = {table.content for table in (PARTICLES, STATES, replace(STATES, version=2), CANDIDATES)}
    assert len(contents) == 4
    assert STATES.with_columns((("more", pa.int8()),)).content == f"{STATES.content}, more int8"
