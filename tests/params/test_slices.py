"""The steps inside the magnet as a part of a set: kept to the bit, and refused when the file is not whole."""

import numpy as np
import pytest

import parkf
from parkf.io.errors import ParkfError
from parkf.model.steps import slices as formulas
from parkf.params.exchange import export_parquet
from parkf.params.exchange.parquet import NUMBERS as EXPORTED
from parkf.params.manifest import Scatterer
from parkf.params.parameter_set import load, with_blobs
from parkf.params.slices import MagnetSlices, load_slices

# All numbers differ.
NUMBERS = np.arange(formulas.SLICES * len(formulas.MAPS) * np.prod(formulas.NODES)) / 8
LAYER = Scatterer(z=3000.0, angle=1.5, opening=35.0)


@pytest.fixture
def slices():
    maps = NUMBERS.reshape(formulas.SLICES, len(formulas.MAPS), *formulas.NODES)
    return MagnetSlices.of(maps, np.linspace(-0.3, -0.1, formulas.SLICES), (LAYER,), (12.0, 20.0))


@pytest.fixture
def saved(parameters, slices, tmp_path):
    with_blobs(parameters.manifest, parameters.constant, parameters.table, slices=slices).save(tmp_path)
    return tmp_path


def test_they_are_read_as_they_were_written(saved, slices):
    read = load(saved).slices
    np.testing.assert_array_equal(read.numbers, slices.numbers)
    assert read.described == slices.described
    np.testing.assert_array_equal(read.numbers[0, 1, 2, : len(formulas.MAPS)], NUMBERS.reshape(
        formulas.SLICES, len(formulas.MAPS), *formulas.NODES)[0, :, 1, 2])  # fmt: skip


def test_the_archive_of_a_training_has_the_same(slices, tmp_path):
    path = tmp_path / "slices.npz"
    slices.save(path)
    again = load_slices(path)
    np.testing.assert_array_equal(again.numbers, slices.numbers)
    assert again.described == slices.described


def test_a_set_without_them_has_no_file_and_says_so(saved, parameters):
    parameters.save(saved)
    assert not (saved / "slices.f32").exists()
    assert load(saved).slices is None
    with pytest.raises(ParkfError, match=r"no steps inside the magnet \(slices\.f32\)"):
        parkf.load(saved).carry(np.zeros((1, 5)), 5000.0, 4000.0, +1)


def test_the_front_door_carries_states(saved):
    carried = parkf.load(saved).carry(np.array([[0.0, 0.0, 0.0, 0.0, 1e-9]]), 3000.0, 3000.0, +1)
    np.testing.assert_array_equal(carried.states, [[0.0, 0.0, 0.0, 0.0, 1e-9]])


@pytest.mark.parametrize("damage", ["short", "missing", "other"])
def test_other_numbers_than_described_are_refused(saved, damage):
    path = saved / "slices.f32"
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-4] if damage == "short" else content[4:] + content[:4])
    with pytest.raises(ParkfError, match=r"slices\.f32"):
        load(saved)


def test_each_number_is_exported(saved, slices, tmp_path):
    """Node 1, 2 of slice 3: all maps in their order."""
    export_parquet(load(saved), tmp_path / "set.parquet")
    with EXPORTED.open(tmp_path / "set.parquet") as file:
        rows = file.read().to_pandas()
    rows = rows[rows.block == "SLICES"]
    np.testing.assert_array_equal(rows["value"], slices.maps.ravel())
    node = rows[rows["set"] == "slice 3, node 1,2"]
    maps = NUMBERS.reshape(formulas.SLICES, len(formulas.MAPS), *formulas.NODES)[3, :, 1, 2]
    assert list(node["name"]) == [one.name for one in formulas.MAPS]
    np.testing.assert_array_equal(node["value"], maps.astype(np.float32))
    assert set(node["unit"]) == {"MeV/mm"}
    assert set(rows.parity) == {-1}
