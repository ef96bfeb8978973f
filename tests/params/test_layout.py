"""The layout of parkf.md has 466 numbers in ten blocks."""

import pytest

from parkf.io.errors import ParkfError
from parkf.model.layout import built, layout_of
from parkf.model.steps import FORMS

PRODUCTION = FORMS["production"]

# Blocks and shapes of the reference's table, in the order of the constant blob.
REFERENCE = {
    "V": (2, 6),
    "VUT": (1, 15),
    "UT": (6, 12),
    "UTTF": (1, 20),
    "UTT_META": (1, 19),
    "TFT": (1, 4),
    "T": (22, 12),
    "TLayer": (4, 12),
    "UTLayer": (1, 4),
    "BEAM": (2, 4),
}


def test_blocks_are_those_of_the_trigger():
    assert [(b.name, b.shape) for b in PRODUCTION.layout.blocks] == list(REFERENCE.items())


def test_blocks_tile_the_constant_blob():
    stop = 0
    for name, (rows, columns) in REFERENCE.items():
        place = PRODUCTION.layout.block_slice(name)
        assert place.start == stop
        assert place.stop - place.start == rows * columns
        stop = place.stop
    assert stop == 466


@pytest.mark.parametrize("name", FORMS)
def test_the_kernel_was_built_with_the_layout_of_the_formulas(name):
    assert layout_of(name) == FORMS[name].layout


def test_a_kernel_without_a_layout_says_what_to_do(monkeypatch):
    monkeypatch.setattr(built, "LAYOUT_FILE", "missing.json")
    built.layouts_of.cache_clear()
    with pytest.raises(ParkfError, match="make build"):
        layout_of("improved")
