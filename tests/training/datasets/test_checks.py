from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.errors import ParkfError
from parkf.io.repeats import hashes
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.checks import KEYS, check_dataset

from ...rows import step_rows


def _write(path, columns):
    arrays = {name: columns[name].astype(kind.to_pandas_dtype()) for name, kind in STEP_DATA.columns}
    with replace(STEP_DATA, rows_in_group=150).writer(path) as writer:
        writer.write_table(pa.table(arrays, schema=STEP_DATA.schema))
    return path


def test_a_sound_dataset_passes(tmp_path):
    path = _write(tmp_path / "VUT.parquet", step_rows(400))
    left, without = check_dataset(path, "VUT")
    assert (left.rows, left.count, len(without)) == (400, 0, 0)
    done = CliRunner().invoke(app, ["check-dataset", "VUT", str(path)])
    assert (done.exit_code, done.output) == (0, f"{path}: 400 rows of step VUT, all good\n")


def test_the_sign_of_the_charge_counts(tmp_path):
    columns = step_rows(400)
    columns["qop"][5] *= -1
    with pytest.raises(ParkfError, match=r"column 'qop', row 5: .*charge's sign"):
        check_dataset(_write(tmp_path / "VUT.parquet", columns), "VUT")


def test_minus_zero_is_zero():
    keys = {name: np.zeros(2) for name in KEYS["V"]} | {"z0": np.array([0.0, -0.0])}
    assert len(np.unique(hashes(keys, KEYS["V"]))) == 1


def test_equal_hashes_alone_are_no_duplicate(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "parkf.training.datasets.checks.hashes", lambda columns, keys: np.zeros(len(columns["z0"]), np.uint64)
    )
    left, _ = check_dataset(_write(tmp_path / "sound.parquet", step_rows(400)), "VUT")
    assert (left.rows, left.count) == (400, 0)


def test_the_sets_are_those_of_the_step_functions():
    from parkf.model.steps import FORMS
    from parkf.training.datasets.legs import SETS

    for forms in FORMS.values():
        assert {name: step.joined * len(step.sets) for name, step in forms.steps.items()} == SETS
