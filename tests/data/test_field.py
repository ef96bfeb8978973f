"""Nuisances come back as they were simulated: another field, and a SciFi that was moved and turned."""

import dataclasses
import json

import numpy as np
import pytest
from typer import BadParameter
from typer.testing import CliRunner

from parkf.cli.commands.options import numbers_by_name
from parkf.cli.main import app
from parkf.data.field.inspection import biases, inspect_measured
from parkf.data.field.matter import momentum_loss
from parkf.data.field.measure import measure
from parkf.data.field.nuisances import NUISANCES, Z_SCIFI, changed_field
from parkf.data.field.path import follow
from parkf.data.field.tracks import TrueTracks, read_true_tracks
from parkf.detector.field import DipoleSources, FieldMap, evaluate_on_grid
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, load_geometry
from parkf.detector.transport import track_through
from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT
from parkf.io.tables import CANDIDATES, PARTICLES, VELO_SLOTS

from ..fit.full_material import layer_effects
from ..gun import shoot
from ..rows import arrow

FIELDS = ("field_before", "field_middle", "field_behind")
DIFFERENT = {"field_before": -0.04, "field_middle": -0.003, "field_behind": -0.02}
TURN, STRETCH = 5e-4, 2e-3  # rad; relative


def simulated(geometry, field, *, turn=0.0, stretch=0.0, count=420):
    """Tracks of the embedded simulation, with hits in a SciFi that is turned and stretched along z."""
    gun = shoot(events=1, per_event=count, seed=3, p_range=(4e3, 3e4), slope_max=(0.15, 0.12))
    states = track_through(field, -1, geometry, gun, seed=4, long_only=True, threads=1)
    random = np.random.default_rng(5)
    planes, strips = geometry.planes(), [*UT_PLANES, *SCIFI_PLANES]
    numbers = np.unique(states["particle"])
    velo = np.full((len(numbers), VELO_SLOTS, 3), np.nan)
    x, z, dxdy, sigma = (np.full((len(numbers), len(strips)), np.nan) for _ in range(4))
    for row, number in enumerate(numbers):
        own = {
            name: states[name][states["particle"] == number] for name in ("plane", "x", "y", "tx", "ty", "z")
        }
        pixels = np.flatnonzero(own["plane"] < VELO_PLANES.stop)[:VELO_SLOTS]
        velo[row, : len(pixels)] = np.column_stack([own[axis][pixels] for axis in "xyz"])
        velo[row, : len(pixels), :2] += random.normal(size=(len(pixels), 2)) * geometry.velo.resolution
        for slot, plane in enumerate(strips):
            at = np.flatnonzero(own["plane"] == plane)
            if not len(at):
                continue
            z0 = planes[plane, 0]
            moved = stretch * (z0 - Z_SCIFI) if plane in SCIFI_PLANES else 0.0
            angle = turn if plane in SCIFI_PLANES else 0.0
            here = own["x"][at[0]] + moved * own["tx"][at[0]], own["y"][at[0]] + moved * own["ty"][at[0]]
            local = here[0] + angle * here[1], here[1] - angle * here[0]
            dxdy[row, slot], sigma[row, slot] = (
                geometry.strip_slope(plane),
                0.1 if angle or plane > 57 else 0.05,
            )
            z[row, slot] = z0
            x[row, slot] = local[0] - dxdy[row, slot] * local[1] + random.normal() * sigma[row, slot]
    whole = (np.isfinite(x).sum(axis=1) == len(strips)) & (np.isfinite(velo[..., 0]).sum(axis=1) >= 3)
    of = numbers[whole]
    p = np.sqrt(sum(gun[name][of] ** 2 for name in ("px", "py", "pz")))
    hits = {"velo": velo, "x": x, "z": z, "dxdy": dxdy, "sigma": sigma}
    return TrueTracks(
        polarity=-1,
        event=np.zeros(len(of)),
        charge=gun["charge"][of].astype(float),
        p=p,
        mass=gun["mass"][of],
        **{name: values[whole] for name, values in hits.items()},
    )


@pytest.fixture(scope="module")
def alike(geometry, field):
    return measure(simulated(geometry, field), geometry, field, names=FIELDS)


@pytest.fixture(scope="module")
def different(geometry, field):
    tracks = simulated(geometry, changed_field(field, DIFFERENT))
    return measure(tracks, geometry, field, names=FIELDS)


def pulls(measured, truth):
    return (measured.value - [truth.get(name, 0.0) for name in measured.names]) / measured.error


def test_nothing_is_measured_where_nothing_differs(alike):
    assert np.abs(pulls(alike.nuisances, {})).max() < 3.5
    mean, error, count = biases(alike)["bias of p, before"]
    assert count > 200
    assert abs(mean) < 3.5 * error < 0.002


def test_the_field_of_each_region_comes_back(different):
    assert np.abs(pulls(different.nuisances, DIFFERENT)).max() < 3.5
    # Each region is measured by its own bend: errors are far smaller than the differences of two of them.
    assert different.nuisances.error[0] < 0.02
    assert different.nuisances.error[2] < 0.005


def test_momenta_come_out_right_with_the_measured_field(different):
    figures = biases(different)
    for who in ("", " of positive charge", " of negative charge"):
        before, _, _ = figures[f"bias of p{who}, before"]
        after, error, _ = figures[f"bias of p{who}, after"]
        assert before > 0.003
        assert abs(after) < 3.5 * error


def test_a_different_field_is_a_finding(alike, different):
    assert inspect_measured(alike, "hits").verdict == "ok"
    assert inspect_measured(different, "hits").verdict == "doubtful"


def test_a_number_against_what_is_known_of_it_is_a_finding(alike):
    value, error = alike.nuisances.value[1], alike.nuisances.error[1]
    for away, verdict in ((2.9, "ok"), (3.1, "doubtful")):
        known = alike.known | {"field_middle": (value + away * 2 * error, 2 * error)}
        assert inspect_measured(dataclasses.replace(alike, known=known), "hits").verdict == verdict


def test_the_flanges_of_the_beam_pipe_cost_nothing_where_no_track_crosses_them():
    """Of this geometry's tubes, two lie around the beam pipe, where tracks of the test hardly go."""
    geometry = load_geometry(PROJECT / "data/geometry/run3_fullsim.yaml")
    field = evaluate_on_grid(DipoleSources.load(PROJECT / "data/field/dipole.json"))
    tracks = simulated(geometry, field)
    wide = {"loss": (0.0, np.inf)}
    measured = measure(tracks, geometry, field, names=("field_middle", "loss"), known=wide).nuisances
    assert np.abs(pulls(measured, {})).max() < 3.5
    # With every flange on the way of every track, the losses would be four times too large.
    assert measured.error[1] < 0.15


def test_tracks_cross_the_flanges_that_they_meet():
    """Straight lines at the angle θ are at the radius r where z = r/θ."""
    geometry = load_geometry(PROJECT / "data/geometry/run3_fullsim.yaml")
    none = FieldMap(np.full(3, -1e4), np.full(3, 2e3), np.zeros((11, 11, 12, 3), np.float32))
    slope, n = np.array([0.008, 0.012, 0.015, 0.03]), 4
    velo = np.full((n, VELO_SLOTS, 3), np.nan)
    velo[:, 0] = np.column_stack([700 * slope, 0 * slope, np.full(n, 700.0)])
    hits = dict.fromkeys(("x", "z", "dxdy", "sigma"), np.full((n, 16), np.nan))
    one = np.ones(n)
    tracks = TrueTracks(-1, event=one, charge=one, p=1e4 * one, mass=139.6 * one, velo=velo, **hits)
    lines = np.column_stack([700 * slope, 0 * slope, slope, 0 * slope, 0 * slope])
    path = follow(tracks, lines, geometry, none, {})
    tubes = [
        (at, width) for at, width, _ in path.kicks if np.abs(at[1] - 3000) < 1 or np.abs(at[2] - 3133) < 1
    ]
    crossed = np.any([width > 0 for _, width in tubes], axis=0)
    assert crossed.tolist() == [False, True, True, False]
    # 150 and 45 mm of aluminium, whose radiation length is 89 mm.
    widths = np.max([width for _, width in tubes], axis=0)
    for row, x0 in ((1, 150 / 89), (2, 45 / 89)):
        assert widths[row] == pytest.approx(13.6 / 1e4 * np.sqrt(x0) * (1 + 0.038 * np.log(x0)), rel=0.02)


def test_a_turned_and_stretched_scifi_comes_back(geometry, field):
    tracks = simulated(geometry, field, turn=TURN, stretch=STRETCH)
    names = ("scifi_stretch", "scifi_turn")
    wide = {"scifi_stretch": (0.0, 1.0)}
    measured = measure(tracks, geometry, field, names=names, known=wide).nuisances
    assert np.abs(pulls(measured, {"scifi_stretch": STRETCH, "scifi_turn": TURN})).max() < 4.0
    assert (measured.error < [2e-3, 1e-4]).all()


def test_a_scifi_that_stands_elsewhere_comes_back(geometry, field):
    """By itself, it is known to half a millimetre. Tracks know it better."""
    tracks = simulated(geometry, field, count=150)
    assumed = tracks.z - np.where(np.arange(16) < 4, 0.0, 0.8)
    measured = measure(dataclasses.replace(tracks, z=assumed), geometry, field, names=("scifi_z",)).nuisances
    assert measured.error[0] < 0.4
    assert abs(pulls(measured, {"scifi_z": 0.8})[0]) < 4.0


@pytest.mark.parametrize("mass", [105.658, 493.677])
def test_momentum_is_lost_as_in_the_full_fit(geometry, mass):
    """The reference of the full fit has the energy that is lost in collisions below a cut."""
    p = np.geomspace(100.0, 1e5, 30)
    for material in geometry.description.materials.values():
        one, energy = np.ones(30), np.hypot(p, mass)
        lost = momentum_loss(material, 0.3 * one, p, mass * one, 0.007 * p)
        reference = layer_effects(material, 0.3 * one, p, mass, hard=one, cut=0.007 * p)
        np.testing.assert_allclose(lost, reference.loss * energy / p, rtol=1e-6)


def written(tracks, folder, **changed):
    """Write tracks as candidates and their particles, with some columns of the candidates replaced."""
    n = tracks.count
    number = np.arange(n)
    of = dict.fromkeys(PARTICLES.schema.names, np.zeros(n)) | {
        "particle": number,
        "pdg_id": 211 * tracks.charge,
        "charge": tracks.charge,
        "mass": tracks.mass,
        "px": 0.1 * tracks.p,
        "pz": np.sqrt(0.99) * tracks.p,
        "z_end": np.full(n, np.inf),
    }
    columns = {"event": np.zeros(n), "candidate": number, "particle": number, "purity": np.ones(n)}
    columns |= {"polarity": np.full(n, tracks.polarity), "qop": tracks.charge / tracks.p}
    columns |= {f"velo_{axis}": tracks.velo[..., i] for i, axis in enumerate("xyz")}
    columns["velo_n"] = np.isfinite(tracks.velo[..., 0]).sum(axis=1)
    for name in ("x", "z", "dxdy", "sigma"):
        columns[f"ut_{name}"], columns[f"scifi_{name}"] = np.split(getattr(tracks, name), [4], axis=1)
    paths = folder / "candidates.parquet", folder / "particles.parquet"
    tables = ((CANDIDATES, columns | changed), (PARTICLES, of))
    for path, (table, values) in zip(paths, tables, strict=True):
        with table.writer(path) as writer:
            writer.write_table(arrow(table, values))
    return paths


def test_true_tracks_are_read_with_all_their_hits(geometry, field, tmp_path):
    tracks = simulated(geometry, field, count=150)
    read = read_true_tracks(*written(tracks, tmp_path))
    assert read.polarity == tracks.polarity
    for name in ("charge", "p", "velo", "x", "z", "dxdy", "sigma"):
        np.testing.assert_allclose(getattr(read, name), getattr(tracks, name), rtol=1e-6, err_msg=name)
    impure = np.where(np.arange(tracks.count) < 7, 0.5, 1.0)
    assert read_true_tracks(*written(tracks, tmp_path, purity=impure)).count == tracks.count - 7


def test_tracks_cross_material_in_the_order_of_z(geometry, field):
    """Layers of hits, and passive slabs between them."""
    tracks = simulated(geometry, field, count=100)
    row, last = np.arange(tracks.count), np.isfinite(tracks.velo[..., 2]).sum(axis=1) - 1
    end, before = tracks.velo[row, last], tracks.velo[row, last - 1]
    slopes = (end - before)[:, :2] / (end - before)[:, 2:]
    path = follow(tracks, np.column_stack([end[:, :2], slopes, 0 * row]), geometry, field, {})
    z = np.array([np.nanmedian(z) for z, _, _ in path.kicks])
    assert len(z) == 16 + len(geometry.description.slabs)
    assert (np.diff(z) > 0).all()


def test_what_is_known_stays(geometry, field):
    tracks = simulated(geometry, field, count=150)
    known = {"field_middle": (0.01, 1e-6)}
    measured = measure(tracks, geometry, field, names=("field_middle",), known=known)
    assert measured.nuisances.by_name["field_middle"] == pytest.approx(0.01, abs=1e-5)


def test_the_other_polarity_is_refused(geometry, field):
    turned = FieldMap(field.origin, field.spacing, -field.values)
    with pytest.raises(ParkfError, match="check polarity and units"):
        measure(simulated(geometry, field, count=150), geometry, turned, names=("field_middle",))


def test_an_unknown_nuisance_is_refused(geometry, field):
    tracks = simulated(geometry, field, count=100)
    with pytest.raises(ParkfError, match="nuisance 'tilt', expected one of field_before"):
        measure(tracks, geometry, field, names=("tilt",))


def test_regions_are_scaled_apart(field):
    scaled = changed_field(field, DIFFERENT)
    for name, z in (("field_before", 1000.0), ("field_middle", 5000.0), ("field_behind", 8500.0)):
        point = np.array([[50.0, 70.0, z]])
        assert scaled.at(point) == pytest.approx((1 + DIFFERENT[name]) * field.at(point), rel=1e-5)
    assert changed_field(field, dict.fromkeys(NUISANCES, 0.0)) is field


@pytest.mark.parametrize("numbers", ["", "=1", "=a:b", "=nan:1", "=0:0"])
def test_wrong_texts_of_known_nuisances_are_refused(numbers):
    with pytest.raises(BadParameter, match=r"expected NAME=VALUE:ERROR"):
        numbers_by_name([f"field_middle{numbers}"], "NAME=VALUE:ERROR", count=2)
    found = numbers_by_name(["field_middle=-1e-4:2e-4"], "", count=2)
    assert found == {"field_middle": (-1e-4, 2e-4)}


def test_a_missing_file_leaves_nothing_behind(tmp_path, geometry):
    options = ["--geometry", "data/geometry/run3.yaml", "--alignment", "data/geometry/alignment_nominal.yaml"]
    files = [str(tmp_path / name) for name in ("candidates.parquet", "particles.parquet", "out.json")]
    ran = CliRunner().invoke(app, ["measure-field", *files, *options, "--field", str(tmp_path / "f.npz")])
    assert ran.exit_code != 0
    assert json.dumps([str(path) for path in tmp_path.iterdir()]) == "[]"
