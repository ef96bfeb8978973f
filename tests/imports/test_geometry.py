"""Dumps of a geometry are read back as they were written, and LHCb's hits lie on LHCb's planes."""

from pathlib import Path

import dump_writers
import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from parkf.detector.alignment import Alignment
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, load_geometry
from parkf.imports.geometry.dumps import Elements, _recognised, read_beam_line, read_scifi, read_ut, read_velo
from parkf.imports.geometry.folder import import_dumps
from parkf.imports.geometry.placing import residuals
from parkf.io.errors import ParkfError
from parkf.io.tables import STATES
from parkf.simulation.response.hits import respond

ROOT = Path(__file__).parents[2]
BASE = ROOT / "data/geometry/run3.yaml"
DUMPS = ROOT / "../shared/data/lhcb_formats/allen_geometry"
ROUNDING = 2e-3  # mm; float32 resolves the SciFi's z to 0.0005 mm


def _imported(folder: Path, to: Path):
    told = import_dumps([folder], base=BASE, geometry=to / "g.yaml", alignment=to / "a.yaml")
    return load_geometry(to / "g.yaml", to / "a.yaml"), told


def _corners(geometry, planes):
    """Corners of the pieces, by the piece's number."""
    pieces = [geometry.pieces[plane] for plane in planes]
    order = np.argsort(np.concatenate([p.numbers for p in pieces]))
    return np.concatenate([p.corners() for p in pieces])[order]


def _farthest(found, expected):
    """Largest distance from an expected corner (n, 4, 3) to the nearest found one."""
    return np.linalg.norm(expected[:, :, None] - found[:, None], axis=-1).min(axis=2).max()


@pytest.fixture(scope="module")
def displaced(tmp_path_factory):
    """A detector with every element displaced, as it was made and as it was imported."""
    folder = tmp_path_factory.mktemp("displaced")
    made = dump_writers.displaced(dump_writers.detector(), seed=17)
    geometry, told = _imported(dump_writers.write(folder / "dumps", made), folder)
    return made, geometry, told


def test_every_element_of_a_displaced_detector_is_where_the_dump_has_it(displaced):
    made, geometry, told = displaced
    assert _farthest(_corners(geometry, VELO_PLANES), dump_writers.velo_corners(made)) < ROUNDING
    assert _farthest(_corners(geometry, UT_PLANES), made["ut"]) < ROUNDING
    numbers = np.concatenate([geometry.pieces[plane].numbers for plane in SCIFI_PLANES])
    assert np.array_equal(np.sort(numbers), made["numbers"])
    assert _farthest(_corners(geometry, SCIFI_PLANES), made["scifi"]) < ROUNDING
    assert "material, errors of hits" in told
    assert f"those of {BASE}" in told
    assert (geometry.beam.x, geometry.beam.y) == pytest.approx((0.7, -0.2), abs=1e-6)


def test_newer_writers_say_the_same(displaced, tmp_path):
    made, _, _ = displaced
    dump_writers.write(
        tmp_path / "new",
        made,
        velo=dump_writers.velo_bytes(made, mask=True),
        ut=dump_writers.ut_bytes(made, version=1),
        scifi=dump_writers.scifi_bytes(made, banks="links"),
        beamline=dump_writers.beam_bytes(new=True),
    )
    old = dump_writers.write(tmp_path / "old", made, scifi=dump_writers.scifi_bytes(made, banks="none"))
    for name, read in (("velo", read_velo), ("ut", read_ut), ("scifi", read_scifi)):
        of_old, of_new = (read(folder / f"{name}_geometry.bin") for folder in (old, tmp_path / "new"))
        for key, value in vars(of_old).items():
            np.testing.assert_allclose(getattr(of_new, key), value, rtol=0, atol=1e-5, err_msg=key)
    position, spread = read_beam_line(tmp_path / "new" / "beamline.bin")
    np.testing.assert_allclose(position, [0.7, -0.2, 3.0], rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(spread[[0, 2, 5]]), [0.03, 0.04, 50.0], rtol=1e-6)


def test_a_dump_that_ends_early_is_recognised_by_its_first_numbers():
    made = dump_writers.detector()
    assert _recognised(dump_writers.velo_bytes(made)[:8]) == "VELO"
    assert _recognised(dump_writers.scifi_bytes(made)[:24]) == "SciFi"
    assert _recognised(dump_writers.ut_bytes(made)[:8]) == "UT"
    assert _recognised(b"") == ""


def test_sectors_of_half_the_pitch_have_twice_the_strips(tmp_path):
    made = dump_writers.detector()
    content = np.frombuffer(dump_writers.ut_bytes(made), "<f4").copy()
    (tmp_path / "wide.bin").write_bytes(content.tobytes())
    # A header and the first strips, then pitch, length, and the step from strip to strip in x, y and z.
    columns = content[1049:].reshape(9, 1048)
    columns[0, :100] *= 0.5
    columns[2:5, :100] *= 511 / 1023
    (tmp_path / "narrow.bin").write_bytes(content.tobytes())
    wide, narrow = (read_ut(tmp_path / f"{name}.bin").corners for name in ("wide", "narrow"))
    np.testing.assert_allclose(narrow, wide, atol=ROUNDING)


@pytest.mark.parametrize(
    ("rows", "value", "message"),
    [
        (slice(0, 1), 6000.0, "mirrors must be within 5000 mm of the beam"),
        (slice(3, 6), 0.6, "directions across fibres must be of length 1"),
        (slice(12, 13), 6000.0, "fibres must be 100 to 5000 mm long"),
    ],
)
def test_a_mat_that_no_scifi_has_is_refused(tmp_path, rows, value, message):
    made = dump_writers.detector()
    content = np.frombuffer(dump_writers.scifi_bytes(made), "<f4").copy()
    content[-13 * 1536 :].reshape(13, 1536)[rows, made["numbers"][5]] = value
    (tmp_path / "scifi.bin").write_bytes(content.tobytes())
    with pytest.raises(ParkfError, match=f"{message}; number 5 is"):
        read_scifi(tmp_path / "scifi.bin")


def test_a_tilted_layer_is_the_layers_own_and_a_displaced_module_the_modules(tmp_path):
    made = dump_writers.detector()
    lean = np.array([[1, 0, 0], [0, 1, 0], [0, 2e-3, 1]])
    layer = made["numbers"] // 128 == 4
    made["scifi"][layer] = (made["scifi"][layer] - [0, 0, 8508]) @ lean.T + [0, 0, 8508]
    for sensor in range(28, 32):
        rotation, origin = made["velo"][sensor]
        made["velo"][sensor] = (rotation, origin + np.array([0.02, -0.03, 0.05]))
    geometry, _ = _imported(dump_writers.write(tmp_path / "dumps", made), tmp_path)
    nominal = load_geometry(tmp_path / "g.yaml")
    z0, dzdx, dzdy = geometry.planes()[SCIFI_PLANES[4]]
    assert (z0, dzdx) == pytest.approx((8508.0, 0.0), abs=1e-3)
    assert dzdy == pytest.approx(0.0036 + 2e-3, abs=1e-6)
    moved = geometry.frames[7].origin - nominal.frames[7].origin
    np.testing.assert_allclose(moved, [0.02, -0.03, 0.05], atol=1e-4)
    assert _farthest(_corners(geometry, SCIFI_PLANES), made["scifi"]) < ROUNDING


def test_a_layer_that_turns_about_y_turns_as_a_whole(tmp_path):
    """Right-handed about y, a point at +x goes to smaller z. No mat moves within its layer."""
    made, turn = dump_writers.detector(), -1.5e-3
    layer = made["numbers"] // 128 == 6
    c, s = np.cos(turn), np.sin(turn)
    about_y = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    made["scifi"][layer] = (made["scifi"][layer] - [0, 0, 8648]) @ about_y.T + [0, 0, 8648]
    geometry, _ = _imported(dump_writers.write(tmp_path / "dumps", made), tmp_path)
    _, dzdx, dzdy = geometry.planes()[SCIFI_PLANES[6]]
    assert (dzdx, dzdy) == pytest.approx((-np.tan(turn), 0.0036), abs=2e-6)
    alignment = yaml.safe_load((tmp_path / "a.yaml").read_text())
    assert alignment["scifi_layers"][6]["ry"] == pytest.approx(turn, abs=1e-6)
    assert not alignment["scifi_mats"]
    assert _farthest(_corners(geometry, SCIFI_PLANES), made["scifi"]) < ROUNDING


def test_residuals_of_a_layer_without_pieces_are_distances_from_its_plane():
    """The plane has turned about y and x. Corners on it are at no distance, and others are in front of it."""
    plane, rx, ry = SCIFI_PLANES[2], 2e-3, 5e-3
    displacement = {"velo_halves": {}, "velo_modules": {}, "ut_layers": {}}
    moved = Alignment.model_validate(
        {"tag": "turned", **displacement, "scifi_layers": {2: {"rx": rx, "ry": ry}}}
    )
    geometry = load_geometry(BASE).align(moved)
    u, v = np.array([[-500.0, 500.0, 500.0, -500.0], [100.0, 100.0, 900.0, 900.0]])
    # Points of the layer at y = 0: at 7966 mm, leaning by 3.601 mrad.
    upright = np.column_stack([u, v, 0.003601 * v])
    turned = Rotation.from_euler("xyz", [rx, ry, 0.0]).apply(upright) + np.array([0.0, 0.0, 7966.0])
    off = np.array([0.0, 0.3, -0.7, 2.0])
    corners = turned + off[:, None] * [0.0, 0.0, 1.0]
    elements = Elements(number=np.array([0]), plane=np.array([plane]), corners=corners[None])
    np.testing.assert_allclose(residuals(elements, geometry)[0], np.abs(off), atol=2e-3)


def test_files_that_are_missing_stay_as_they_were_and_are_named(tmp_path):
    made = dump_writers.detector()
    (tmp_path / "ut_geometry.bin").write_bytes(dump_writers.ut_bytes(made))
    (tmp_path / "beamline.bin").write_bytes(dump_writers.beam_bytes(new=True))
    geometry, told = _imported(tmp_path, tmp_path)
    assert f"without a dump, and as in {BASE}: VELO, SciFi" in told
    assert "z of the luminous region, 3000 µm" in told
    assert (geometry.beam.x, geometry.beam.sigma_y) == pytest.approx((0.7, 0.04), abs=1e-6)
    assert set(geometry.pieces) == set(UT_PLANES)
    np.testing.assert_array_equal(
        geometry.planes()[list(SCIFI_PLANES)], load_geometry(BASE).planes()[list(SCIFI_PLANES)]
    )


def test_hits_lie_where_the_pieces_are_and_on_the_tracks(displaced):
    """Straight tracks through displaced pieces: hits at their own z have pulls of unit width."""
    _, geometry, _ = displaced
    random = np.random.default_rng(3)
    count = 4000
    tx, ty = random.uniform(-0.2, 0.2, count), random.uniform(-0.15, 0.15, count)
    for plane in (UT_PLANES[1], SCIFI_PLANES[6]):
        z0, dzdx, dzdy = geometry.frames[plane].plane
        z = z0 / (1.0 - dzdx * tx - dzdy * ty)
        zero = np.zeros(count)
        known = {"x": tx * z, "y": ty * z, "z": z, "tx": tx, "ty": ty}
        states = {name: zero for name, _ in STATES.columns} | known
        states |= {
            "event": np.zeros(count, np.int32),
            "particle": np.arange(count, dtype=np.int32),
            "plane": np.full(count, plane),
            "active": np.ones(count, bool),
        }
        hits = respond(states, geometry=geometry, seed=1)
        hits = {name: values[hits["particle"] >= 0] for name, values in hits.items()}
        track = hits["particle"]
        # The y and z at which the track crosses the hit's line in the y-z view.
        y = ty[track] * hits["z"] / (1.0 - hits["dzdy"] * ty[track])
        height = hits["z"] + hits["dzdy"] * y
        drawn = hits["x"] + hits["dxdy"] * y - tx[track] * height
        expected = np.where(plane in UT_PLANES, hits["sigma"], np.hypot(hits["sigma"], 0.0))
        core = np.sqrt(np.maximum(expected**2 - (0.08**2 if plane in SCIFI_PLANES else 0.0), 1e-9))
        pulls = drawn / core
        width = 0.5 * np.diff(np.quantile(pulls, [0.1587, 0.8413]))[0]
        assert width == pytest.approx(1.0, abs=5 / np.sqrt(2 * len(pulls)))
        assert abs(np.median(pulls)) < 5 * 1.25 / np.sqrt(len(pulls))
        assert np.ptp(hits["z"]) > (8.0 if plane in UT_PLANES else 0.1)


@pytest.mark.skipif(not DUMPS.is_dir(), reason="LHCb's dumps are not here")
def test_lhcbs_dumps_are_met_to_a_tenth_of_a_micrometre(tmp_path):
    geometry, told = _imported(DUMPS, tmp_path)
    table = [line.split() for line in told.splitlines() if "as written" in line]
    assert [row[0] for row in table] == ["VELO", "UT", "SciFi"]
    assert all(float(row[-1]) < 0.1 for row in table), told
    assert geometry.description.tag == "allen_geometry"
