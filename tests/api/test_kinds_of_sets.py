"""Sets that were published before steps inside the magnet existed fit long tracks alone, and say so."""

import numpy as np
import pytest

import parkf
from parkf.io.errors import ParkfError


def test_a_set_without_steps_inside_the_magnet_refuses_other_kinds():
    hits = dict(np.load(parkf.example().with_suffix(".npz")))
    published = parkf.load("2026-run3-like-2-r012")
    with pytest.raises(
        ParkfError, match=r"kind 'downstream': the parameter set has no steps inside the magnet"
    ):
        published.fit(hits, kind="downstream")
    with pytest.raises(ParkfError, match=r"kind 'muon': expected one of long, upstream, downstream, scifi"):
        published.fit(hits, kind="muon")
