"""Calibration on toys that are exactly what their set assumes, in a detector that is displaced and worse."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from kalman_toy import generate

import parkf.data.reference as reference_module
from parkf.data import CALIBRATION_FILES
from parkf.data.calibrate import Data, calibrate
from parkf.data.elements import Elements
from parkf.data.equations import Solution
from parkf.data.masses import NAMES, _fitted, measure_momenta, strength_of
from parkf.data.moving import Moving
from parkf.data.state import (
    State,
    errors_by_layer,
    read_factors,
    read_state,
    sentences,
    stronger,
    write_state,
)
from parkf.data.worse import measuring_worse, scattering_more
from parkf.detector.alignment import Alignment, Displacement
from parkf.detector.description import Description
from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, geometry_of
from parkf.fit.displaced import join_candidates
from parkf.io.documents.models import load_document
from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.io.project import PROJECT
from parkf.io.tables import MEASURED
from parkf.simulation.generate.decays import DECAYS

MOMENTA = (4000.0, 10000.0, 25000.0, 60000.0)
SURVEY = {"x": 0.05, "y": 0.05, "z": 0.05}
UT_ERRORS = 1.15


@pytest.fixture(scope="module")
def description():
    return load_document(PROJECT / "data/geometry/run3.yaml", Description)


def alignment_of(seed=None):
    """Displacements of 50 µm of every module and layer; without a seed, none."""
    sections = {
        "velo_modules": len(VELO_PLANES),
        "ut_layers": len(UT_PLANES),
        "scifi_layers": len(SCIFI_PLANES),
    }
    random = np.random.default_rng(seed)
    places = {
        section: {
            key: Displacement(**dict(zip("xyz", (0.05 * random.standard_normal(3)).tolist(), strict=True)))
            for key in range(count)
        }
        for section, count in sections.items()
    }
    return Alignment(
        tag="nominal" if seed is None else "displaced",
        velo_halves={},
        **(places if seed else {key: {} for key in sections}),
    )


def toys(seed, count):
    found = [generate(count, p, seed=seed + 10 * i, efficiency=0.97) for i, p in enumerate(MOMENTA)]
    tracks = join_candidates([toy.candidates("float32") for toy in found])
    return found[0].parameters, tracks.rows(np.random.default_rng(seed).permutation(tracks.count))


def field():
    grid = np.zeros((9, 9, 12, 3), np.float32)
    grid[..., 1] = -0.4
    return FieldMap(np.array([-4000.0, -4000.0, -500.0]), np.array([1000.0, 1000.0, 1000.0]), grid)


def test_hits_move_with_their_elements(description):
    """Hits keep their coordinates on their elements."""
    before = geometry_of(description).align(alignment_of(3))
    turned = {key: replace_rotation(one) for key, one in alignment_of(4).scifi_layers.items()}
    before = before.align(alignment_of().model_copy(update={"scifi_layers": turned}))
    after = geometry_of(description)
    tracks = toys(1, 50)[1]
    there = Moving(after, before)(tracks.in_precision("float64"))
    # VELO: the hit's coordinates on its module stay.
    elements = Elements.of(after)
    of = elements.module(np.nan_to_num(tracks.velo[2]))
    for number in range(5):
        for slot in range(int(tracks.velo_n[number])):
            plane = of[number, slot]
            x, y, z = (axis[number, slot] for axis in tracks.velo)
            local = np.array(after.frames[plane].local(x, y))
            moved = before.frames[plane].points(*local)
            assert [axis[number, slot] for axis in there.velo] == pytest.approx(
                [moved[0], moved[1], moved[2] + z - after.frames[plane].origin[2]], abs=2e-4
            )
    # SciFi: so do points on the fibre.
    for layer, plane in enumerate(SCIFI_PLANES):
        for number in range(5):
            x, z, dxdy, _ = (one[number, layer] for one in there.scifi)
            if np.isfinite(x):
                frame, own = before.frames[plane], after.frames[plane]
                u, v = np.array(frame.local(x + dxdy * 500.0, 500.0))
                back = own.points(u, v)
                seen = tracks.scifi[0][number, layer] + tracks.scifi[2][number, layer] * back[1]
                assert back[0] == pytest.approx(seen, abs=2e-3)
    again = Moving(before, after, np.full(16, 2.0))(there)
    np.testing.assert_allclose(again.scifi[0], tracks.scifi[0], atol=2e-3)
    np.testing.assert_allclose(again.velo[1], tracks.velo[1], atol=1e-4)
    np.testing.assert_allclose(again.ut[3], 2 * tracks.ut[3], rtol=1e-6)


def replace_rotation(displacement):
    return displacement.model_copy(update={"rz": 3e-4, "rx": 2e-4})


def highland(reduced):
    return np.sqrt(reduced) * (1 + 0.038 * np.log(reduced))


def test_more_scattering_is_that_of_highland_and_no_more_energy_loss(description):
    more = scattering_more(description, {"VELO": 1.1, "magnet": 0.9})
    length = more.materials[more.velo.material].radiation_length
    plain = description.materials[description.velo.material].radiation_length
    thickness = description.velo.thickness
    assert highland(thickness / length) == pytest.approx(1.1 * highland(thickness / plain), rel=1e-9)
    assert more.materials[more.velo.material].density == description.materials["silicon"].density
    assert more.scifi.material == description.scifi.material
    changed = {slab.name for slab in more.slabs if " of " in slab.material}
    assert changed == {"ut_box", "scifi_front", *(f"magnet_air_{n}" for n in range(1, 6))}
    # A second time, the factors multiply, and names stay.
    again = scattering_more(more, {"VELO": 1.1})
    length = again.materials[again.velo.material].radiation_length
    assert highland(thickness / length) == pytest.approx(1.21 * highland(thickness / plain), rel=1e-9)
    assert again.velo.material == more.velo.material


def test_worse_hits(description):
    worse = measuring_worse(description, 1.1, 1.2, 0.9)
    assert worse.velo.resolution == pytest.approx(1.1 * description.velo.resolution)
    assert worse.ut.zones[0].sigma == pytest.approx(1.2 * description.ut.zones[0].sigma)
    assert worse.scifi.hit_errors == pytest.approx([0.9 * one for one in description.scifi.hit_errors])


def decays(count, truth, seed, polarity):
    """J/ψ → μμ with momenta of 0.4 %, as a detector measures them that is off by the four numbers."""
    random = np.random.default_rng(seed)
    mass, muon = DECAYS["jpsi"].mass, 105.6583755
    at_rest = np.sqrt(mass**2 / 4 - muon**2)
    cosine, phi = random.uniform(-0.7, 0.7, count), random.uniform(0, 2 * np.pi, count)
    sine = np.sqrt(1 - cosine**2)
    own = at_rest * np.stack([sine * np.cos(phi), sine * np.sin(phi), cosine], axis=1)
    p = random.uniform(30e3, 150e3, count)
    gamma, beta_gamma = np.hypot(p, mass) / mass, p / mass
    slopes = random.uniform(-0.12, 0.12, (count, 2))
    axis = np.column_stack([slopes, np.ones(count)])
    axis /= np.linalg.norm(axis, axis=1)[:, None]
    side = np.cross(axis, [0.0, 1.0, 0.0])
    side /= np.linalg.norm(side, axis=1)[:, None]
    up = np.cross(axis, side)
    rows = []
    for charge in (1, -1):
        q = charge * own
        along = gamma * q[:, 2] + beta_gamma * mass / 2
        vector = along[:, None] * axis + q[:, :1] * side + q[:, 1:2] * up
        size = np.linalg.norm(vector, axis=1)
        tx, ty = vector[:, 0] / vector[:, 2], vector[:, 1] / vector[:, 2]
        k = charge / size * (1 + 0.004 * random.standard_normal(count))
        k *= 1 + truth[0] + truth[1] * (tx / 0.1) ** 2 + truth[2] * (ty / 0.1) ** 2
        rows.append((tx, ty, k + polarity * 1e-6 * truth[3]))
    tx, ty, k = (np.concatenate(pair) for pair in zip(*rows, strict=True))
    n = 2 * count
    fitted = SimpleNamespace(
        status=np.zeros(n, int), chi2=np.ones(n), ndof=np.full(n, 20), ndof_scifi=np.full(n, 10)
    )
    fitted.tx, fitted.ty, fitted.qop = tx, ty, k
    fitted.x, fitted.y, fitted.z = np.zeros((3, n))
    tracks = SimpleNamespace(polarity=np.full(n, polarity), velo=[random.standard_normal((n, 1))])
    return np.tile(np.arange(count), 2).astype(float), tracks, fitted


def test_masses_show_field_shape_and_sagitta():
    truth = np.array([2e-3, 1.5e-3, -1e-3, 0.05])
    for polarity, seed in ((1, 5), (-1, 6)):
        found = measure_momenta("jpsi", *decays(4000, truth, seed, polarity))
        # In first order of the mass: a J/ψ whose momenta are off by the same fraction has this scale.
        pull = (found.value - truth) / found.error
        assert np.abs(pull).max() < 3.5, dict(zip(NAMES, pull, strict=True))
        assert found.error[3] < 0.02


def test_errors_of_a_double_gaussian_are_those_of_its_information():
    """Cramér and Rao's bound. The mean, or a fit of one Gaussian, has errors larger by 60 %."""
    random, n, share, narrow, wide = np.random.default_rng(4), 20_000, 0.7, 10.0, 40.0
    values = random.standard_normal(n) * np.where(random.random(n) < share, narrow, wide)
    x = np.linspace(-400, 400, 20_001)
    parts = [a * np.exp(-0.5 * (x / s) ** 2) / s for a, s in ((share, narrow), (1 - share, wide))]
    density, slope = np.add(*parts), parts[0] * x / narrow**2 + parts[1] * x / wide**2
    information = (slope**2 / density).sum() / density.sum()
    found = _fitted(values, random.standard_normal((n, 4)), 400.0)
    np.testing.assert_allclose(found.error, 1 / np.sqrt(n * information), rtol=0.04)
    assert found.error.max() < 0.7 * values.std() / np.sqrt(n)


def test_a_shape_that_is_not_sure_is_none_and_makes_the_scale_surer():
    """Fixing a number at 0 by its covariance is what least squares without it find."""
    random = np.random.default_rng(3)
    slopes = np.column_stack([np.ones(200), *random.uniform(0, 2, (2, 200)), random.standard_normal(200)])
    values = slopes @ [0.5, 0.0, 0.0, 0.2] + random.standard_normal(200)
    covariance = np.linalg.inv(slopes.T @ slopes)
    found = strength_of(Solution(NAMES, covariance @ slopes.T @ values, covariance))
    less = slopes[:, [0, 3]]
    expected = np.linalg.solve(less.T @ less, less.T @ values)
    assert found["change"] == pytest.approx([expected[0], 0, 0])
    assert found["error"][0] == pytest.approx(np.sqrt(np.linalg.inv(less.T @ less)[0, 0]))
    for shape in (9.0, -9.0):
        sure = strength_of(Solution(NAMES, np.array([0.5, shape, 0.0, 0.2]), covariance))
        # Without the other shape, which is 0, the number stays.
        assert sure["change"][1] == pytest.approx(shape)
        assert sure["change"][2] == 0


def test_a_map_gets_scale_and_shapes():
    """At tx = 2/9, and at ty = −2/9."""
    change, plain = np.array([0.01, -0.02, 0.03]), field()
    x, y, z = (plain.origin[axis] + 1000.0 * index for axis, index in enumerate((5, 4, 5)))
    assert (x, y, z) == (1000.0, 0.0, 4500.0)
    found = stronger(plain, change).values[..., 1] / plain.values[..., 1]
    assert found[5, 4, 5] == pytest.approx(1.01 - 0.02 * (x / z / 0.1) ** 2)
    assert found[4, 3, 5] == pytest.approx(1.01 + 0.03 * (x / z / 0.1) ** 2)


def test_too_few_pairs_are_refused():
    with pytest.raises(ParkfError, match="expected at least 100"):
        measure_momenta("jpsi", *decays(50, np.zeros(4), 5, 1))


@pytest.fixture(scope="module")
def calibrated(description):
    """A displaced detector with larger UT errors, its state before and after, and figures."""
    truth, nominal = alignment_of(11), alignment_of()
    parameters, tracks = toys(21, 650)
    x, z, dxdy, sigma = tracks.ut
    more = np.sqrt(UT_ERRORS**2 - 1) * np.random.default_rng(5).standard_normal(x.shape) * sigma
    tracks = replace(tracks, ut=((x + more).astype(np.float32), z, dxdy, sigma))
    plain = geometry_of(description)
    data = Data(Moving(plain.align(truth), plain)(tracks), {})
    state = State(description, nominal, field())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_module, "_RESPONSE", 2000)
        after, found = calibrate(
            parameters, data, Data(toys(31, 650)[1], {}), state, placed=nominal, survey=SURVEY
        )
    return truth, after, found


def test_shifts_are_found_within_their_errors(calibrated):
    truth, after, found = calibrated
    names = [name.split() for name in found["alignment"]["names"]]
    true = np.array([getattr(getattr(truth, section)[int(key)], one) for section, key, one in names])
    pull = (found["alignment"]["value"] - true) / found["alignment"]["error"]
    assert (np.abs(pull) < 3).mean() >= 0.95
    assert 0.7 < np.sqrt((pull**2).mean()) < 1.4
    # Distances of neighbours do not depend on weak modes. The first modules have no hits here.
    velo_x = np.array([section == "velo_modules" and one == "x" for section, _, one in names])
    left = (found["alignment"]["value"] - true)[velo_x]
    assert np.diff(left[12:40:2]).std() < 0.1 * np.diff(true[velo_x][12:40:2]).std()
    assert after.alignment.tag == "calibrated"
    assert not found["converged"]


def test_larger_errors_of_ut_hits_are_found(calibrated):
    _, after, found = calibrated
    factors = found["factors"]
    change, error = (dict(zip(factors["names"], factors[key], strict=True)) for key in ("change", "error"))
    ut = "hit errors of the UT"
    assert abs(change[ut] - (UT_ERRORS - 1)) < 3.5 * error[ut]
    assert change[ut] > 3 * error[ut]
    assert max(abs(change[name] / error[name]) for name in change if name != ut) < 4.5
    assert {name for name in change if "errors" in name} == {
        ut,
        "hit errors of SciFi",
        "hit errors of the VELO",
    }
    np.testing.assert_allclose(
        errors_by_layer(after.factors),
        np.repeat([1 + change[ut], after.factors["hit errors of SciFi"]], [4, 12]),
    )
    assert after.description.ut.zones[0].pitch > 0.0935


def test_weak_modes_are_named_with_the_sample_that_tells_them(calibrated):
    weak = {one["name"].split(":")[0].split(",")[0]: one for one in calibrated[2]["weak"]}
    assert not weak["sagitta"]["told"]
    assert weak["sagitta"]["error"] > 0.95 * weak["sagitta"]["survey"]
    assert "J/ψ" in weak["sagitta"]["sample"]
    assert not weak["twist"]["told"]
    assert weak["twist"]["error"] is None
    for axis in "xyz":
        assert not weak[f"everything along {axis}"]["told"]


def test_files_are_written_and_read(calibrated, tmp_path):
    _, after, found = calibrated
    write_state(tmp_path, after, found)
    again = read_state(*(tmp_path / CALIBRATION_FILES[n] for n in (2, 1, 3, 0)))
    assert again.alignment == after.alignment
    assert again.description == after.description
    np.testing.assert_array_equal(again.magnet.values, after.magnet.values)
    assert read_factors(tmp_path / "calibration.json") == pytest.approx(dict(after.factors), rel=1e-6)
    assert any("sagitta" in line for line in sentences(read_json(tmp_path / "calibration.json")))


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text("{}")
    with pytest.raises(ParkfError, match=r"calibration\.json of `parkf calibrate`"):
        read_factors(path)


def test_what_does_not_fit_together_is_refused(description):
    parameters, tracks = toys(41, 30)
    state = State(description, alignment_of(), field())
    pairs = {"jpsi": (np.zeros(tracks.count), tracks)}
    with pytest.raises(ParkfError, match="jpsi of the data and none of the reference"):
        calibrate(parameters, Data(tracks, pairs), Data(tracks, {}), state, placed=alignment_of())
    half = alignment_of().model_copy(update={"velo_halves": {"left": Displacement(x=0.1)}})
    with pytest.raises(ParkfError, match="velo_halves: differ"):
        calibrate(parameters, Data(tracks, {}), Data(tracks, {}), state, placed=half)


def test_too_few_candidates_are_refused(tmp_path):
    path = tmp_path / "few.parquet"
    with MEASURED.writer(path):
        pass
    with pytest.raises(ParkfError, match="0 candidates, expected at least 2000"):
        Data.read([path], [])
