"""Distances of hits from the planes of a geometry that has no pieces."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parkf.detector.geometry import SCIFI_PLANES, load_geometry
from parkf.io.errors import ParkfError
from parkf.proof.validation.positions import positions

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def geometry():
    return load_geometry(ROOT / "data/geometry/run3_fullsim.yaml")


def strips(geometry, layer):
    """Strips of a SciFi layer that lie on its leaning plane, from ymin to ymax."""
    z0, _, dzdy = geometry.planes()[SCIFI_PLANES[layer]]
    x = np.array([500.0, 1000.0, 2000.0])
    hits = pd.DataFrame({"x": x, "y": 0.0, "z": z0, "ymin": [-2400.0, 10.0, 0.0], "ymax": 2400.0})
    return hits.assign(det="SciFi", layer=layer, dxdy=0.0, dzdy=dzdy, err=0.1)


def test_both_ends_of_a_strip_lie_on_a_leaning_plane(geometry):
    (found,) = positions(strips(geometry, 5), geometry)
    assert geometry.planes()[SCIFI_PLANES[5]][2] > 0.003
    assert found.off == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(found.beside).all()


def test_a_strip_that_leans_by_more_is_off_by_its_worse_end(geometry):
    hits = strips(geometry, 5)
    (found,) = positions(hits.assign(dzdy=hits.dzdy + 1e-3), geometry)
    assert found.off == pytest.approx(2.4)
    # Shift in x, in units of the error, of a track from the origin over these 2.4 mm.
    assert found.shifted == pytest.approx(2.4 * hits.x / hits.z / 0.1, rel=2e-3)


def test_a_column_that_is_missing_is_named(geometry):
    with pytest.raises(ParkfError, match="'dzdy' is missing"):
        positions(strips(geometry, 5).drop(columns="dzdy"), geometry)
