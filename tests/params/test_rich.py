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
# Terms of RICH_SCIFI for a field without symmetry; sets up to 2026-run3-like-2-r016 lack them.
GAINED = [f"field that bends tx, with {term}" for term in ("X", "X·Y", "X^3", "X·Y^2")]
GAINED += ["field that turns ty", *(f"field that turns ty, with {term}" for term in ("X", "Y", "X^2"))]


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


def test_numbers_that_a_form_has_gained_are_zero():
    """A set from before the terms that are odd in X keeps its numbers in their places."""
    rich = RichConstants.of(BLOCKS, {})
    now = rich.block_of_forms("RICH_SCIFI")
    np.testing.assert_array_equal(now, rich.block("RICH_SCIFI"))
    gained = [i for i, number in enumerate(rich.layout[-1].sets[0].numbers) if number.text in GAINED]
    fewer = np.delete(now, gained, axis=1)
    for plane in rich.layout[-1].sets:
        plane.numbers[:] = [number for i, number in enumerate(plane.numbers) if i not in gained]
    before = RichConstants(fewer.ravel(), rich.layout[-1:])
    got = before.block_of_forms("RICH_SCIFI")
    assert not got[:, gained].any()
    np.testing.assert_array_equal(np.delete(got, gained, axis=1), fewer)
    before.layout[0].sets[0].numbers[0] = (
        before.layout[0].sets[0].numbers[0].model_copy(update={"text": "other"})
    )
    with pytest.raises(ParkfError, match="RICH_SCIFI"):
        before.block_of_forms("RICH_SCIFI")
