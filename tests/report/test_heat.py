"""Fields of a map can be read, and the further from zero a number is the more its field stands out."""

import re
from itertools import pairwise

import pytest

from parkf.report.heat import PALETTE, PALETTE_IN_THE_DARK, HeatMap, Spot, shade


def _luminance(colour):
    """Relative luminance of a colour (WCAG 2.2)."""
    digits = colour.lstrip("#")
    digits = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("palette", [PALETTE, PALETTE_IN_THE_DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", PALETTE)
def test_numbers_stand_out_from_their_field(name, palette):
    """The text has at least the contrast of 4.5 that WCAG 2.2 asks for."""
    dark, light = sorted(map(_luminance, palette[name]))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("palette", [PALETTE, PALETTE_IN_THE_DARK], ids=["light", "dark"])
def test_larger_numbers_stand_out_more_from_the_page(sign, palette):
    values = [sign * number / 100 for number in range(1, 150)]
    luminance = [_luminance(palette[shade(value)][0]) for value in values]
    assert luminance == sorted(luminance, reverse=palette is PALETTE)
    assert len(set(luminance)) == 7
    # Red is too much, and blue is too little.
    assert {shade(value)[0] for value in values} == {"p" if sign > 0 else "n"}


def test_a_drawn_map_has_the_number_of_each_cell_and_marks_what_is_sure():
    spots = [Spot("+0.12", 0.3), None, Spot("-0.40", -1.0, sure=True)]
    drawn = HeatMap(
        "η", [("5 GeV", "0°"), ("5 GeV", "45°"), ("5 GeV", "90°")], {"2–3": spots}, "bias", [(-1.0, "−0.4 %")]
    )
    assert drawn.svg.count("<title>") == 2
    assert "<title>2–3, 0°: +0.12</title>" in drawn.svg
    assert drawn.svg.count("<circle") == 1
    # The bar has all shades of both signs, and the mark at its left end.
    assert drawn.bar.count('class="cell') == 13
    assert "−0.4 %" in drawn.bar


def test_names_of_columns_and_rows_have_room():
    """Columns are as wide as their names; rows follow each other evenly, beside their fields."""
    rows = {f"row {n}": [Spot(f"{n}.5", 0.1), Spot("2", 0.2)] for n in range(4)}
    drawn = HeatMap("η", [("5 GeV", "a long name"), ("5 GeV", "another one")], rows, "bias", [(0.0, "0 %")])
    first, second = (
        float(re.search(rf'x="([\d.]+)"[^>]*>{name}<', drawn.svg)[1])
        for name in ("a long name", "another one")
    )
    assert second - first > 6.0 * len("another one")
    picture = drawn.picture("name", "title", "see")
    heights, fields = (
        [float(re.search(rf'y="([\d.]+)">{text.format(n)}<', picture.body)[1]) for n in range(4)]
        for text in ("row {}", "{}.5")
    )
    assert fields == pytest.approx(heights, abs=3)
    steps = [below - above for above, below in pairwise(heights)]
    assert steps == pytest.approx([steps[0]] * 3)
    assert steps[0] >= 12
