"""The embedded geometry agrees with LHCb's; an impossible file is refused with a reason."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from parkf.detector.description import Description
from parkf.detector.geometry import (
    PLANES,
    SCIFI_PLANES,
    UT_PLANES,
    VELO_PLANES,
    Z_IN,
    Z_OUT,
    Geometry,
    load_geometry,
)
from parkf.io.errors import ParkfError

ROOT = Path(__file__).parents[2]
FILE = ROOT / "data/geometry/run3.yaml"
FULL_SIMULATION = ROOT / "../shared/data/lhcb_fullsim/hits.parquet"


def test_planes_have_their_numbers(geometry: Geometry) -> None:
    planes = geometry.planes()
    assert planes.shape == (PLANES, 3) == (70, 3)
    assert (VELO_PLANES, UT_PLANES) == (range(0, 52), range(52, 56))
    assert (Z_IN, Z_OUT, SCIFI_PLANES) == (56, 57, range(58, 70))
    np.testing.assert_allclose(planes[list(UT_PLANES), 0], [2327.5, 2372.5, 2597.5, 2642.5])
    np.testing.assert_allclose(planes[[Z_IN, Z_OUT], 0], [2665.0, 7826.0])
    stations = np.add.outer([7826.0, 8508.0, 9193.0], [0.0, 70.0, 140.0, 210.0])
    np.testing.assert_allclose(planes[list(SCIFI_PLANES), 0], stations.ravel())
    np.testing.assert_allclose(planes[list(SCIFI_PLANES), 2], 0.003601)
    np.testing.assert_allclose(planes[: Z_OUT + 1, 1:], 0.0)


def test_stereo_angles(geometry: Geometry) -> None:
    expected = [0.0, np.tan(np.radians(5.0)), -np.tan(np.radians(5.0)), 0.0]
    for planes in (UT_PLANES, SCIFI_PLANES):
        slopes = [geometry.strip_slope(plane) for plane in planes]
        np.testing.assert_allclose(slopes, np.resize(expected, len(planes)), atol=2e-6)


def _rotated(x: np.ndarray, y: np.ndarray, angle: float) -> tuple[np.ndarray, np.ndarray]:
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return c * x + s * y, c * y - s * x


@pytest.mark.skipif(not FULL_SIMULATION.is_file(), reason="the full simulation's hits are not here")
def test_active_areas_contain_the_full_simulations_hits(geometry: Geometry) -> None:
    hits = pd.read_parquet(FULL_SIMULATION)
    velo = hits[hits.det == "VELO"]
    for side, parity in ((geometry.velo.right, 0), (geometry.velo.left, 1)):
        here = velo[velo.layer % 2 == parity]
        inside = np.zeros(len(here), dtype=bool)
        for sensor in side.sensors:
            u, v = _rotated(here.x.to_numpy() - sensor.x, here.y.to_numpy() - sensor.y, sensor.angle)
            size = geometry.velo.sensor
            inside |= (abs(u) < 0.5 * size.length + 0.01) & (abs(v) < 0.5 * size.width + 0.01)
        assert inside.mean() > 0.999
    for name, part in (("UT", geometry.ut), ("SciFi", geometry.scifi)):
        for index, layer in enumerate(part.layers):
            here = hits[(hits.det == name) & (hits.layer == index)]
            assert (abs(here.x) < layer.half_width + 15.0).mean() > 0.999
            assert (np.maximum(abs(here.ymin), abs(here.ymax)) < layer.half_height + 16.0).all()
            np.testing.assert_allclose(here.dxdy.abs().max(), abs(layer.dxdy), atol=2e-4)


def _changed(tmp_path: Path, change) -> Path:
    content = yaml.safe_load(FILE.read_text())
    change(content)
    path = tmp_path / "geometry.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_magnet_begins_behind_the_last_ut_layer(tmp_path: Path) -> None:
    """tests/bad_input has the other ways in which a geometry is impossible."""
    path = _changed(tmp_path, lambda c: c["magnet"].update(z_in=2600.0))
    with pytest.raises(ParkfError, match=r"last UT layer .* must lie before magnet\.z_in") as caught:
        load_geometry(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["run3.yaml", "run3_fullsim.yaml"])
def test_hits_and_holes_are_those_of_the_full_simulation(name: str) -> None:
    """The UT's hole has the area of LHCb's round hole; SciFi clusters have the errors that tracks show."""
    description = load_geometry(FILE.with_name(name)).description
    hole, scifi = description.ut.hole, description.scifi
    assert 4 * hole.half_width * hole.half_height == pytest.approx(np.pi * 33.4**2, rel=0.01)
    by_size = {
        size: error for size, error in enumerate(scifi.cluster_errors) if scifi.cluster_fractions[size]
    }
    assert by_size == {0: 0.085, 4: 0.15, 5: 0.30, 6: 0.45, 7: 0.60}


@pytest.mark.parametrize("efficiency", ["0.99", 1.01, -0.01])
def test_a_fraction_is_a_number_from_0_to_1(geometry, efficiency):
    content = geometry.description.model_dump(mode="json", exclude_unset=True)
    content["ut"]["efficiency"] = efficiency
    with pytest.raises(ValueError, match=r"ut\.efficiency"):
        Description.model_validate(content)
