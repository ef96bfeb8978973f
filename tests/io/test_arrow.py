import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from parkf.io.arrow import column, numbers


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.array([1.5, np.nan, -2.0]), pa.float64()),
        (np.array([1.5, np.nan, -2.0]), pa.float32()),
        (np.arange(20)[::2], pa.int32()),
        (np.array([1, -1, 1], np.int64), pa.int8()),
        (np.arange(11) % 3 == 0, pa.bool_()),
        (np.arange(12.0).reshape(4, 3), pa.list_(pa.float32(), 3)),
        (np.empty(0), pa.float64()),
        (np.empty(0, bool), pa.bool_()),
    ],
)
def test_columns_are_those_that_arrow_makes(values, kind):
    if pa.types.is_fixed_size_list(kind):
        flat = pa.array(values.ravel(), kind.value_type)
        expected = pa.FixedSizeListArray.from_arrays(flat, type=kind)
    else:
        expected = pa.array(values).cast(kind)
    made = column(values, kind)
    assert made.type == kind
    # NaN does not equal itself, but the texts of two NaN are equal.
    assert str(made) == str(expected)
    np.testing.assert_array_equal(numbers(made), values)
    # Take some rows from the middle, in one chunk and in two.
    for part in (made[1:], pa.chunked_array([made[:1], made[1:]], kind)):
        np.testing.assert_array_equal(numbers(part), values[len(values) - len(part) :])


def test_nulls_are_no_numbers():
    np.testing.assert_array_equal(numbers(pa.array([1, None], pa.int32())), [1, np.nan])


def test_what_does_not_fit_is_refused():
    with pytest.raises(pa.ArrowInvalid, match="300"):
        column(np.array([300]), pa.int8())


def test_tables_go_there_and_back_without_pandas(tmp_path):
    """Importing pandas would take a third of the time that most jobs need to begin."""
    program = f"""
import sys
from pathlib import Path
import numpy as np
from parkf.io.arrow import table
from parkf.io.events import read_by_event
from parkf.io.tables import FATES
columns = {{"event": np.arange(4), "particle": np.zeros(4, int), "hardest": np.ones(4)}}
path = Path({str(tmp_path / "fates.parquet")!r})
with FATES.writer(path) as writer:
    writer.write_table(table(columns, FATES.schema))
assert [len(piece["event"]) for piece in read_by_event(FATES, path, events=3)] == [3, 1]
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
