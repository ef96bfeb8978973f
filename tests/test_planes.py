"""The kernel and the package have the same numbers of layers."""

import re
from pathlib import Path

from parkf.io import planes
from parkf.io.tables import VELO_SLOTS

FIT = Path(__file__).parents[1] / "src/kernel/fit"


def test_the_kernel_has_the_same_layers():
    found = dict(re.findall(r"constexpr int (\w+) = (\d+);", (FIT / "track.hpp").read_text()))
    assert int(found["ut_layers"]) == planes.UT_LAYERS
    assert int(found["scifi_layers"]) == planes.SCIFI_LAYERS
    assert int(found["velo_slots"]) == VELO_SLOTS == planes.VELO_MODULES // 2
