"""The monitor on toys that are exactly what their set assumes, and on toys that are not."""

from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from kalman_toy import generate

import parkf.data.reference as reference_module
from parkf.data.changes import FACTORS, Nuisance, changed, kicks
from parkf.data.equations import Solution
from parkf.data.evidence import gather
from parkf.data.hypotheses import Found, motions
from parkf.data.masses import NAMES as OF_MASSES
from parkf.data.monitor import assess
from parkf.data.moving import shifted
from parkf.data.parts import Parts
from parkf.data.quantities import NAMES, STRIP_LAYERS, core_level, measure, usable
from parkf.data.reference import load_reference, make_reference
from parkf.data.verdict import Means, Table, Verdict, _holes, judge
from parkf.fit.displaced import join_candidates
from parkf.fit.residuals import fit_residuals
from parkf.io.errors import ParkfError
from parkf.io.tables import VELO_SLOTS
from parkf.params.manifest import Blob, Blobs

MOMENTA = (4000.0, 10000.0, 25000.0, 60000.0)
FIFTH = 1.0 * (np.arange(len(STRIP_LAYERS)) == 9)  # SciFi layer 5
BLOB = Blob(numbers=0, sha256="0" * 64)


def sample(seed, count=800):
    toys = [generate(count, p, seed=seed + 10 * i, efficiency=0.97) for i, p in enumerate(MOMENTA)]
    tracks = join_candidates([toy.candidates("float32") for toy in toys])
    return toys[0].parameters, tracks.rows(np.random.default_rng(seed).permutation(tracks.count))


@pytest.fixture(scope="module")
def reference():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_module, "_RESPONSE", 1000)
        return make_reference(*sample(1))


@pytest.fixture(scope="module")
def data():
    return sample(2)


def seen(reference, parameters, tracks):
    return judge(reference, parameters, tracks)


def test_an_unchanged_detector_fits(reference, data):
    verdict = seen(reference, *data)
    assert verdict.fits, verdict.sentences()
    said, unseen, left_out = verdict.sentences()
    assert said == "The set fits: no change of the detector is seen."
    assert "sagitta" in unseen
    assert "J/ψ" in unseen
    assert "hit efficiency of the VELO" in left_out


def test_a_displaced_layer_is_named(reference, data):
    (parameters, tracks), size = data, -0.06
    verdict = seen(reference, parameters, shifted(tracks, strips=-size * FIFTH))
    (found,) = verdict.found
    assert found.change.what == "x of SciFi layer 5"
    assert list(found.others) == ["y of SciFi layer 5"]
    assert abs(found.size - size) < 4 * found.error
    assert f"SciFi layer 5 has moved by {1e3 * found.size:+.1f}" in verdict.sentences()[0]


def test_a_half_of_a_layer_in_one_polarity_is_named(reference, data):
    parameters, tracks = data
    x, *others = tracks.scifi
    moved = x - 0.1 * FIFTH[4:] * (x > 0) * (tracks.polarity > 0)[:, None]
    (found,) = seen(reference, parameters, replace(tracks, scifi=(moved.astype(x.dtype), *others))).found
    assert found.change.what == "x of SciFi layer 5 at x > 0 in MagUp"
    assert abs(found.size - 0.1) < 4 * found.error
    assert "SciFi layer 5 at x > 0 has moved by" in str(found)
    assert "in MagUp alone" in str(found)


def test_a_layer_at_two_places_by_polarity_is_named_twice(reference, data):
    parameters, tracks = data
    moved = shifted(tracks, strips=-0.08 * FIFTH * tracks.polarity[:, None])
    found = seen(reference, parameters, moved).found
    sizes = {one.change.what: one.size for one in found}
    assert sizes.keys() == {f"x of SciFi layer 5 in {side}" for side in ("MagUp", "MagDown")}
    for one in found:
        assert abs(one.size - 0.08 * one.change.sides[0]) < 4 * one.error


def test_a_turned_station_is_named(reference, data):
    """In its own coordinates, hits are at larger x where y is larger, and at smaller y where x is larger."""
    parameters, tracks = data
    x, y = fit_residuals(parameters, tracks)[1].state[-12:, :2].transpose(1, 2, 0)
    turn = 3e-4 * (y + np.nan_to_num(tracks.scifi[2]) * x) * (np.arange(12) >= 8)
    (found,) = seen(reference, parameters, shifted(tracks, strips=np.pad(turn, ((0, 0), (4, 0))))).found
    assert found.change.what == "rz of T3"
    assert abs(found.size - 3e-4) < 4 * found.error


def test_lost_hits_are_no_errors(reference, data):
    """A fifth of the hits of one station, at random."""
    parameters, tracks = data
    lost = (np.random.default_rng(5).random((tracks.count, 12)) < 0.2) & (np.arange(12) // 4 == 1)
    fewer = tuple(np.where(lost, np.nan, of) for of in tracks.scifi)
    (found,) = seen(reference, parameters, replace(tracks, scifi=fewer)).found
    assert found.change.what == "hit efficiency of T2"
    assert abs(found.size + 0.2) < 4 * found.error < 0.03


def test_larger_hit_errors_are_named(reference, data):
    """Errors drawn here, beside the monitor's own drawing."""
    parameters, tracks = data
    random = np.random.default_rng(5)
    x, *others = tracks.scifi
    wrong = x + np.sqrt(1.15**2 - 1) * random.normal(size=x.shape) * others[2]
    (found,) = seen(reference, parameters, replace(tracks, scifi=(wrong.astype(x.dtype), *others))).found
    assert found.change.what == "hit errors of SciFi"
    assert abs(found.size - 0.15) < 4 * found.error + 0.01


def test_more_noise_is_named(reference, data):
    parameters, tracks = data
    change = next(one for one in FACTORS if one.what == "noise of all steps")
    more = next(iter(changed(parameters, tracks, change, 0.2, np.random.default_rng(6))))
    found = seen(reference, parameters, more).found
    assert found[0].change.what == "noise of all steps"
    assert abs(found[0].size - 0.2) < 4 * found[0].error + 0.02


def test_groups_turn_about_their_centres(reference, data):
    """A part's shift and turn about its own centre put each of its points where the group's turn does."""
    parts = Parts.of_sample(data[0], reference.stations)
    for name in ("the VELO half at x > 0", "UTb", "T2", "SciFi layer 5 at x < 0"):
        group = next(one for one in parts.groups() if one.name == name)
        for axis, turn in enumerate(np.eye(3)):
            motion = parts.motion(group, 3 + axis).reshape(-1, 6)
            for part in group.members:
                point = parts.centre[part] + [20.0, -30.0, 1.0]
                moved = motion[part, :3] + np.cross(motion[part, 3:], point - parts.centre[part])
                np.testing.assert_allclose(moved, np.cross(turn, point - group.centre), atol=1e-9)
            assert not motion[np.setdiff1d(np.arange(len(motion)), group.members)].any()


@pytest.fixture(scope="module")
def table(reference, data):
    return table_of(reference, data)


def table_of(reference, data):
    parts = Parts.of_sample(data[0], reference.stations)
    return Table(reference, gather(*data, parts), *motions(parts))


def test_false_alarms_are_as_rare_as_stated(table):
    """Scores drawn from the tracks' own scatter: at most 1 % of samples show a displacement or a loss."""
    random, alarms, drawn = np.random.default_rng(7), 0, copy(table)
    masks, matrices = table.noise
    roots = []
    for matrix in matrices:
        values, vectors = np.linalg.eigh(matrix)
        roots.append(table.rows @ (vectors * np.sqrt(np.maximum(values, 0))))
    for _ in range(200):
        drawn.score = (masks @ [root @ random.normal(size=root.shape[1]) for root in roots]).ravel()
        alarms += bool(drawn.near([]))
    assert alarms <= 2 + 3 * np.sqrt(2)


def test_errors_have_those_of_the_reference(table, reference, data):
    """A reference as large as the sample doubles the square of an error, and adds half in one polarity."""
    parameters, tracks = data
    few = table_of(replace(reference, count=sum(usable_by_side(parameters, tracks))), data)
    many = table_of(replace(reference, count=10**9), data)
    names = [one.what for one in table.nuisances]
    for name in ("x of SciFi layer 5", "x of SciFi layer 5 in MagUp", "rz of T2", "z of UTa"):
        chosen = [names.index(name)]
        more = few.fitted(chosen).error ** 2 / many.fitted(chosen).error ** 2
        assert more == pytest.approx(1.5 if "MagUp" in name else 2.0, rel=0.1)
    evidence = gather(
        parameters, tracks.rows(slice(0, 2000)), Parts.of_sample(parameters, reference.stations)
    )
    found = [
        Means.of(replace(reference, count=count), evidence).fit([0])[0].error
        for count in (sum(one.count for one in evidence.values()), 10**9)
    ]
    assert found[0] / found[1] == pytest.approx(np.sqrt(2), rel=1e-3)


def test_a_cell_without_a_hole_is_not_surely_better():
    """Of 100 tracks 4 holes are expected, with the scatter of a binomial: 0 are two errors beside them."""
    reference = SimpleNamespace(crossed=np.full(2, 1e7), hits=np.full(2, 0.96e7))
    has = np.ones((2, 100))
    has[1, :20] = 0.0
    crossing = np.concatenate([np.ones((2, 100)), has])
    one = SimpleNamespace(products=crossing @ crossing.T, crossed=np.full(2, 100.0), hits=has.sum(axis=1))
    score, info, noise, more = _holes(reference, one, 0.0)
    np.testing.assert_allclose(score / np.diag(info), [0.04 / 0.96, -0.16 / 0.96], rtol=1e-5)
    errors = np.sqrt(np.diag(noise)) / np.diag(info)
    # Of the second cell, the observed scatter about the expectation: 20 times 0.96², 80 times 0.04².
    expected = np.sqrt([100 * 0.96 * 0.04, 20 * 0.96**2 + 80 * 0.04**2]) / 96
    np.testing.assert_allclose(errors, expected, rtol=1e-4)
    np.testing.assert_allclose(more, info)


def usable_by_side(parameters, tracks):
    use = usable(fit_residuals(parameters, tracks)[0])
    return [int((use & (tracks.polarity == side)).sum()) for side in (1, -1)]


def test_means_are_parabolas_in_the_sizes_of_factors(monkeypatch):
    """Responses of a mean that is 3·s + 5·s²; and the size that a fit finds with them."""
    monkeypatch.setattr(reference_module, "changed", lambda *given: [given[3]])
    monkeypatch.setattr(
        reference_module,
        "measure",
        lambda _, size: (np.full((4, 1), 3.0 * size + 5 * size**2 if size else 0.0), np.ones((4, 1))),
    )
    first, second = reference_module.responses(None, 0.0, ["one"])
    assert [first.item(), second.item()] == pytest.approx([3.0, 5.0])
    means = Means(
        ["one", "two"], np.array([0.3 * 3 + 0.09 * 5, 0.2]), *np.array([[[3, 0], [0, 2]], [[5, 0], [0, 0]]])
    )
    assert means.fit([0, 1])[0].value == pytest.approx([0.3, 0.1])
    # Errors are the inverse slopes there.
    assert means.fit([0, 1])[0].error == pytest.approx([1 / (3 + 2 * 5 * 0.3), 0.5])


def test_only_what_is_surely_far_is_another_geometry():
    z = Nuisance("z", "SciFi", 0.2)
    for size, far in ((-3.4, False), (3.59, False), (3.61, True), (-3.61, True)):
        found = [Found(z, size, 0.2)]
        verdict = Verdict(False, found, 1.0, 1, 1.0, 0.5)
        assert verdict.far is far
        assert verdict.as_json()["verdict"] == ("not this geometry" if far else "changed")


def test_tracks_of_an_event_that_share_hits_are_fewer_than_they_seem(data):
    """Quantities of an event with every track twice have half of the information: errors are √2 as large."""
    parameters, tracks = data
    some = tracks.rows(slice(0, 2200))
    twice = tracks.rows(np.repeat(np.arange(2200), 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_module, "_RESPONSE", 100)
        once, event = make_reference(parameters, some), np.repeat(np.arange(2200), 2)
        shared, alone = (make_reference(parameters, twice, of) for of in (event, None))
    np.testing.assert_allclose(alone.covariance, once.covariance, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.diag(shared.covariance), 2 * np.diag(once.covariance), rtol=1e-6)


def test_a_reference_is_written_and_read(reference, tmp_path):
    path = tmp_path / "monitor.json"
    blobs = Blobs(constant=BLOB, table=BLOB)
    of_pairs = {"jpsi": Solution(OF_MASSES, np.arange(4.0), np.eye(4))}
    replace(reference, blobs=blobs.fingerprints(), pairs=of_pairs).save(path)
    again = load_reference(path, blobs)
    for name in ("response", "covariance", "place", "rest", "weight", "hits"):
        np.testing.assert_allclose(getattr(again, name), getattr(reference, name), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(again.pairs["jpsi"].value, np.arange(4.0))
    np.testing.assert_array_equal(again.stations.left, reference.stations.left)
    assert (again.count, again.candidates) == (reference.count, reference.candidates)
    other = Blobs(constant=Blob(numbers=1, sha256="1" * 64), table=BLOB)
    with pytest.raises(ParkfError, match="another parameter set"):
        load_reference(path, other)


def test_a_field_that_is_stronger_by_the_masses_is_told(reference, data, tmp_path):
    """Shapes within three errors are none; the sign is that of the field."""
    usual, found = (
        {"jpsi": Solution(OF_MASSES, np.array([scale, 1e-4, 0.0, 0.0]), np.diag([1e-8, 1e-6, 1e-6, 1e-6]))}
        for scale in (1e-4, 3.1e-3)
    )
    content = assess(data[0], replace(reference, pairs=usual), data[1], found)
    assert content["field_scale"]["jpsi"] == pytest.approx({"scale": 3e-3, "error": 1.41e-4}, rel=0.01)
    assert content["verdict"] == "changed"
    assert [one["what"] for one in content["found"]] == ["scale of the field"]
    assert content["sentences"][0].startswith("The field is 1.00300 ± 0.00014 times what the set assumes")


def test_quantities_vanish_and_bound_what_one_hit_does():
    """Those of hit errors and noise: 0 on average where errors are Gaussian, whatever a single hit does."""
    parameters, tracks = sample(2, 2500)
    fitted, _ = fit_residuals(parameters, tracks)
    values = measure(parameters, tracks)[0]
    widths = [n for n, name in enumerate(NAMES) if name.startswith(("error", "noise"))]
    own = values[:, widths]
    pull = own.mean(axis=0) / own.std(axis=0) * np.sqrt(len(own))
    # In the SciFi, scattering shows in one plane more than in the other: its level is 4 % off.
    assert np.abs(pull[:-1]).max() < 4.5
    assert np.abs(own.mean(axis=0)).max() < 0.08
    x = tracks.scifi[0].copy()
    number = int(np.flatnonzero(usable(fitted) & np.isfinite(x[:, 5]))[0])
    x[number, 5] += 0.6
    after, known = measure(parameters, replace(tracks, scifi=(x, *tracks.scifi[1:])))
    place = int(usable(fitted)[:number].sum()), NAMES.index("error of SciFi layer 5")
    # A hit that is 7 errors off counts as one that is 2 off.
    assert after[place] < 3.2
    assert after[place] == pytest.approx((4 - 0.92054) * known[place], rel=1e-4)
    assert core_level(2.0) == pytest.approx(0.92054, abs=1e-5)


def test_kicks_have_the_covariance_of_the_noise(data):
    """A kick at the last SciFi step moves the hit of the last layer alone, with the step's Q_xx."""
    parameters, tracks = data
    tracks = tracks.rows(slice(0, 2000))
    slots = np.zeros(VELO_SLOTS + len(STRIP_LAYERS), bool)
    slots[-1] = True
    _, residuals = fit_residuals(parameters, tracks, covariances=True)
    _, _, strips = kicks(parameters, tracks, slots, np.random.default_rng(3))
    assert (strips[:, :-1] == 0).all()
    # x − dx/dy·y; the last layer is upright.
    pull = strips[:, -1] / np.sqrt(residuals.noise[-1, 0])
    assert pull.std() == pytest.approx(1, abs=0.06)


def test_too_few_candidates_are_no_reference():
    parameters, tracks = sample(3, 100)
    with pytest.raises(ParkfError, match="expected at least 2000"):
        make_reference(parameters, tracks)
