"""The RICH constants of a set: kept to the bit, and refused when the file is not whole."""

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.params.parameter_set import load, with_blobs
from parkf.params.rich import RichConstants, rich_blocks

# All numbers differ.
BLOCKS = {
    name: (100 * i + np.arange(1, np.prod(block.shape) + 1)).reshape(block.shape) / 8
    for i, (name, block) in enumerate(rich_blocks().items())
}


@pytest.fixture
def saved(parameters, tmp_path):
    rich = RichConstants.of(BLOCKS, {("RICH2", 1, 4): 0.5})
    with_blobs(parameters.manifest, parameters.constant, parameters.table, rich=rich).save(tmp_path)
    return tmp_path


def test_blocks_are_read_as_they_were_written(saved):
    rich = load(saved).rich
    for name, block in BLOCKS.items():
        np.testing.assert_array_equal(rich.block(name), block.astype(np.float32))
    with pytest.raises(KeyError):
        rich.block("RICH3")


def test_a_set_without_them_has_no_file(saved, parameters):
    parameters.save(saved)
    assert not (saved / "rich.f32").exists()
    assert load(saved).rich is None


def test_other_numbers_than_described_are_refused(saved):
    path = saved / "rich.f32"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ParkfError, match=r"rich\.f32"):
        load(saved)
    path.unlink()
    with pytest.raises(ParkfError, match=r"rich\.f32"):
        load(saved)


def test_a_wrong_shape_is_refused():
    with pytest.raises(ParkfError, match=r"RICH2: \(2, 11\) numbers, expected \(2, 12\)"):
        RichConstants.of(BLOCKS | {"RICH2": np.zeros((2, 11))}, {})
