"""Tables written as trees hold the same numbers, and ROOT's readers find units' columns by their names."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uproot

from parkf.io.arrow import table
from parkf.io.errors import ParkfError
from parkf.io.tables import FITTED, RICH_STATES
from parkf.io.tree_export import export_tree


@pytest.fixture
def fitted(tmp_path):
    """A table of fitted tracks with states at the RICH planes, of more than one row group."""
    random, kind = np.random.default_rng(3), FITTED.with_columns(RICH_STATES)
    count, columns = kind.rows_in_group + 7, {}
    for name, of in kind.columns:
        if pa.types.is_fixed_size_list(of):
            columns[name] = random.normal(size=(count, of.list_size))
        elif pa.types.is_integer(of):
            columns[name] = random.integers(0, 100, count)
        else:
            columns[name] = random.normal(size=count)
    columns["x"][5] = np.nan
    path = tmp_path / "fitted.parquet"
    with kind.writer(path, {"parkf.set.constant": "ab"}) as writer:
        writer.write_table(table(columns, kind.schema))
    return path


def test_a_tree_has_the_numbers_of_the_table(fitted, tmp_path):
    export_tree(fitted, tmp_path / "fitted.root")
    rows = pq.read_table(fitted)
    with uproot.open(tmp_path / "fitted.root") as file:
        tree = file["fitted"]
        assert tree.keys() == rows.column_names
        assert json.loads(str(file["metadata"])) == {
            "parkf.table": f"fitted {FITTED.version}",
            "parkf.set.constant": "ab",
        }
        for name, branch in tree.arrays(library="np").items():
            expected = rows[name].combine_chunks()
            if pa.types.is_fixed_size_list(expected.type):
                expected = expected.flatten().to_numpy().reshape(len(rows), -1)
            np.testing.assert_array_equal(branch, np.asarray(expected))
            assert branch.dtype == np.asarray(expected).dtype


def test_other_tables_are_refused(tmp_path):
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "other.parquet")
    with pytest.raises(ParkfError, match=r"other\.parquet: no table of parkf"):
        export_tree(tmp_path / "other.parquet", tmp_path / "other.root")
    with pytest.raises(ParkfError, match=r"missing\.parquet: no such file"):
        export_tree(tmp_path / "missing.parquet", tmp_path / "other.root")
    text = pa.schema([("name", pa.string())], metadata={"parkf.table": "names 1"})
    pq.write_table(pa.table({"name": ["a"]}, schema=text), tmp_path / "names.parquet")
    with pytest.raises(ParkfError, match="column 'name' holds string, which no branch can hold"):
        export_tree(tmp_path / "names.parquet", tmp_path / "other.root")
    assert not list(tmp_path.glob("*.root*"))
