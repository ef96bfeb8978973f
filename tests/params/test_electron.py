"""Numbers for electrons as a part of a set: kept, listed, compared and exported."""

import dataclasses

import numpy as np
import pytest

from parkf.params.comparison import compare
from parkf.params.electron import BLOCK, COUNT, ElectronFit
from parkf.params.exchange import export_parquet
from parkf.params.exchange.parquet import NUMBERS as EXPORTED
from parkf.params.parameter_set import load

VALUES = np.arange(COUNT) / 8 - 0.5
ERRORS = np.append(np.full(COUNT - 1, 0.3), np.nan)


def knowing(parameters, values=VALUES, errors=ERRORS):
    told = ElectronFit.of(values, errors, 900).described()
    return dataclasses.replace(parameters, manifest=parameters.manifest.model_copy(update={"electron": told}))


@pytest.fixture
def saved(parameters, tmp_path):
    knowing(parameters).save(tmp_path)
    return tmp_path


def test_they_are_read_as_they_were_written(saved, parameters):
    read = load(saved)
    np.testing.assert_array_equal(read.electron, VALUES)
    assert read.manifest.electron.tracks == 900
    assert parameters.electron is None


def test_a_comparison_finds_them(parameters):
    changed = VALUES.copy()
    changed[4] += 0.9
    found = compare(knowing(parameters), knowing(parameters, changed, ERRORS * 4 / 3))
    (difference,) = found.differences
    assert (difference.block, difference.name) == (BLOCK, "s0")
    assert difference.pull == pytest.approx(0.9 / 0.5)
    assert not found.identical
    assert compare(knowing(parameters), knowing(parameters)).identical
    lost = compare(knowing(parameters), parameters)
    assert {one.second for one in lost.differences} == {None}
    assert len(lost.differences) == COUNT


def test_the_exported_table_has_them(saved, parameters, tmp_path):
    export_parquet(load(saved), tmp_path / "with.parquet")
    export_parquet(parameters, tmp_path / "without.parquet")
    with_them, without = (
        EXPORTED.open(tmp_path / f"{name}.parquet").read().to_pandas() for name in ("with", "without")
    )
    last = with_them.iloc[len(without) :]
    assert (last.block == BLOCK).all()
    np.testing.assert_array_equal(last.value, VALUES.astype(np.float32))
    assert last.error.isna().sum() == 1
