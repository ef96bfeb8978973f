import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.errors import ParkfError
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.checks import check_dataset

from ...rows import step_rows


def _write(path, columns):
    arrays = {name: columns[name].astype(kind.to_pandas_dtype()) for name, kind in STEP_DATA.columns}
    with replace(STEP_DATA, rows_in_group=150).writer(path) as writer:
        writer.write_table(pa.table(arrays, schema=STEP_DATA.schema))
    return path


def test_a_sound_dataset_passes(tmp_path):
    path = _write(tmp_path / "VUT.parquet", step_rows(400))
    assert check_dataset(path, "VUT") == 400
    done = CliRunner().invoke(app, ["check-dataset", "VUT", str(path)])
    assert (done.exit_code, done.output) == (0, f"{path}: 400 rows of step VUT, all good\n")


def test_a_bad_value_is_named_with_file_column_and_row(tmp_path):
    """tests/bad_input has the other columns."""
    columns = step_rows(400)
    columns["charge"][317] = 1
    columns["qop"][317] = 0.1
    path = _write(tmp_path / "VUT.parquet", columns)
    with pytest.raises(ParkfError, match=r"column 'p_true', row 317: .*MeV") as caught:
        check_dataset(path, "VUT")
    assert str(path) in str(caught.value)


def test_the_sign_of_the_charge_counts(tmp_path):
    columns = step_rows(400)
    columns["qop"][5] *= -1
    with pytest.raises(ParkfError, match=r"column 'qop', row 5: .*charge's sign"):
        check_dataset(_write(tmp_path / "VUT.parquet", columns), "VUT")


@pytest.mark.parametrize("rows_of_file", [7, 1 << 20])
def test_duplicates_meet_in_whichever_scratch_file(tmp_path, monkeypatch, rows_of_file):
    monkeypatch.setattr("parkf.training.datasets.checks.ROWS_OF_FILE", rows_of_file)
    columns = step_rows(400)
    assert check_dataset(_write(tmp_path / "sound.parquet", columns), "VUT") == 400
    for name in ("event", "particle", "polarity"):
        columns[name][333] = columns[name][20]
    with pytest.raises(ParkfError, match="rows 20 and 333"):
        check_dataset(_write(tmp_path / "VUT.parquet", columns), "VUT")


def test_equal_hashes_alone_are_no_duplicate(tmp_path, monkeypatch):
    monkeypatch.setattr("parkf.training.datasets.checks._hash", lambda rows: np.zeros(len(rows), np.uint64))
    columns = step_rows(400)
    assert check_dataset(_write(tmp_path / "sound.parquet", columns), "VUT") == 400
    columns["z0"][[5, 6]] = 0.0, -0.0
    for name in ("event", "particle", "polarity"):
        columns[name][6] = columns[name][5]
    with pytest.raises(ParkfError, match="rows 5 and 6"):
        check_dataset(_write(tmp_path / "VUT.parquet", columns), "VUT")


def test_memory_does_not_grow_with_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("parkf.training.datasets.checks.ROWS_OF_FILE", 2000)
    monkeypatch.setattr("parkf.training.datasets.checks._BATCH", 2000)

    def peak(path):
        tracemalloc.start()
        try:
            check_dataset(path, "VUT")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # Other code of this process may allocate meanwhile, such as what cleans up after earlier tests.
    few, many = (
        min(peak(path) for _ in range(3))
        for path in (_write(tmp_path / f"{rows}.parquet", step_rows(rows)) for rows in (10_000, 80_000))
    )
    assert many < 1.5 * few


def test_a_set_without_rows_is_refused(tmp_path):
    with pytest.raises(ParkfError, match="set 1 of step UT has 0 rows"):
        check_dataset(_write(tmp_path / "UT.parquet", step_rows(400)), "UT")


def test_a_null_is_refused(tmp_path):
    columns = {
        name: pa.array(step_rows(400)[name].astype(kind.to_pandas_dtype()))
        for name, kind in STEP_DATA.columns
    }
    values = columns["y0"].to_pylist()
    values[7] = None
    columns["y0"] = pa.array(values, pa.float64())
    path = tmp_path / "VUT.parquet"
    with STEP_DATA.writer(path) as writer:
        writer.write_table(pa.table(columns, schema=STEP_DATA.schema))
    with pytest.raises(ParkfError, match="column 'y0', row 7: null"):
        check_dataset(path, "VUT")


def test_an_unknown_step_is_refused(tmp_path):
    with pytest.raises(ParkfError, match="no step 'MAGNET'"):
        check_dataset(tmp_path / "x.parquet", "MAGNET")


def test_the_sets_are_those_of_the_step_functions():
    from parkf.model.steps import FORMS
    from parkf.training.datasets.legs import SETS

    for forms in FORMS.values():
        assert {name: step.joined * len(step.sets) for name, step in forms.steps.items()} == SETS
