"""The monitor on toys that are exactly what their set assumes, and on toys that are not."""

from dataclasses import replace

import numpy as np
import pytest
from kalman_toy import generate

import parkf.data.reference as reference_module
from parkf.data.changes import Change, changed, kicks
from parkf.data.histograms import Histograms
from parkf.data.masses import scale_of
from parkf.data.moving import shifted
from parkf.data.quantities import STRIP_LAYERS, Stations, core_level, measure, names, usable
from parkf.data.reference import Reference, load_reference, make_reference, moments
from parkf.data.sequential import Detector
from parkf.data.verdict import judge
from parkf.fit.displaced import joined
from parkf.fit.residuals import fit_residuals
from parkf.io.errors import ParkfError
from parkf.io.tables import VELO_SLOTS
from parkf.params.manifest import Blob, Blobs

MOMENTA = (4000.0, 10000.0, 25000.0, 60000.0)
FIFTH = 1.0 * (np.arange(len(STRIP_LAYERS)) == 9)  # SciFi layer 5
BLOB = Blob(numbers=0, sha256="0" * 64)


def sample(seed, count=2500):
    toys = [generate(count, p, seed=seed + 10 * i, efficiency=0.97) for i, p in enumerate(MOMENTA)]
    tracks = joined([toy.candidates("float32") for toy in toys])
    return toys[0].parameters, tracks.rows(np.random.default_rng(seed).permutation(tracks.count))


@pytest.fixture(scope="module")
def reference():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_module, "_RESPONSE", 2500)
        return make_reference(*sample(1))


@pytest.fixture(scope="module")
def data():
    return sample(2)


def seen(reference, parameters, tracks):
    values, _ = measure(parameters, tracks, reference.stations)
    return judge(reference, values.mean(axis=0), len(values))


def test_quantities_of_the_right_set_average_to_zero(reference):
    """They are scores. Those of χ² lose what the cut on χ²/ndof takes away."""
    error = np.sqrt(np.diag(reference.covariance) / reference.count)
    displaced = np.array([name[:5] in ("x of ", "y of ", "z of ") for name in reference.names])
    pull = reference.mean[displaced] / np.maximum(error[displaced], 1e-12)
    assert np.abs(pull).max() < 4.5
    assert len(reference.names) == len(reference.mean) == len(names(reference.stations))


def test_a_response_is_the_weight_of_the_layer(reference, data):
    """Moving layer l by dx changes the mean of its own quantity by the mean of W_ll·dx."""
    parameters, tracks = data
    fitted, residuals = fit_residuals(parameters, tracks)
    use = usable(fitted)
    for layer in (1, 6, 14):
        number = next(
            i for i, one in enumerate(reference.changes) if one.name == f"x of {STRIP_LAYERS[layer]}"
        )
        weight = np.nan_to_num(residuals.weight[2 * VELO_SLOTS + layer][use]).mean()
        own = reference.names.index(f"x of {STRIP_LAYERS[layer]}")
        assert reference.response[number, own] == pytest.approx(weight, rel=0.04)


def test_an_unchanged_detector_fits(reference, data):
    verdict = seen(reference, *data)
    assert verdict.fits, verdict.sentences()
    assert verdict.sentences() == ["The set fits: no change of the detector is seen."]


@pytest.mark.parametrize("size", [0.1, -0.06])
def test_a_displaced_layer_is_named(reference, data, size):
    parameters, tracks = data
    verdict = seen(reference, parameters, shifted(tracks, strips=-size * FIFTH))
    (found,) = verdict.found
    assert found.change.name == "x of SciFi layer 5"
    assert abs(found.size - size) < 4 * found.error
    assert f"SciFi layer 5 has moved by {1e3 * found.size:+.1f}" in verdict.sentences()[0]


def test_larger_hit_errors_are_named(reference, data):
    """Errors drawn here, beside the monitor's own drawing."""
    parameters, tracks = data
    random = np.random.default_rng(5)
    x, *others = tracks.scifi
    wrong = x + np.sqrt(1.15**2 - 1) * random.normal(size=x.shape) * others[2]
    verdict = seen(reference, parameters, replace(tracks, scifi=(wrong.astype(x.dtype), *others)))
    assert verdict.found[0].change.name == "hit errors of SciFi"
    assert abs(verdict.found[0].size - 0.15) < 4 * verdict.found[0].error + 0.01


def test_more_noise_is_named(reference, data):
    parameters, tracks = data
    change = next(one for one in reference.changes if one.name == "noise of all steps")
    random = np.random.default_rng(6)
    more = next(iter(changed(parameters, tracks, change, 0.2, reference.stations, random)))
    verdict = seen(reference, parameters, more)
    assert verdict.found[0].change.name == "noise of all steps"
    assert abs(verdict.found[0].size - 0.2) < 4 * verdict.found[0].error + 0.02


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


def test_false_alarms_are_as_rare_as_stated(reference):
    """Means drawn from the reference's own covariance: at most 1 % of verdicts name a change."""
    random, count = np.random.default_rng(7), 50_000
    covariance = reference.covariance * (1 / count + 1 / reference.count)
    values, vectors = np.linalg.eigh(covariance)
    draws = random.normal(size=(300, len(values))) * np.sqrt(np.maximum(values, 0)) @ vectors.T
    alarms = sum(not judge(reference, reference.mean + one, count).fits for one in draws)
    assert alarms <= 3 + 3 * np.sqrt(3)


def test_the_sequential_test_finds_a_change_and_its_place(reference, data):
    parameters, tracks = data
    good, _ = measure(parameters, tracks, reference.stations)
    bad, _ = measure(parameters, shifted(tracks, strips=-0.1 * FIFTH), reference.stations)
    detector = Detector(reference, batch=200)
    assert detector.add(good[:3000]) is None
    alarm = detector.add(bad[3000:])
    assert alarm["what"] == "x of SciFi layer 5"
    assert 3000 < alarm["found_at"] <= 7000
    assert abs(alarm["changed_at"] - 3000) <= 400
    assert abs(alarm["size"] - 0.1) < 4 * alarm["error"] + 0.03


def test_the_sequential_statistic_does_not_grow_faster_than_batches(reference):
    """Its mean after n batches without a change is at most n: the bound of the false alarms."""
    random, batches = np.random.default_rng(8), 40
    values, vectors = np.linalg.eigh(reference.covariance / 1000)
    finals = []
    for _ in range(60):
        detector = Detector(reference)
        for _ in range(batches):
            noise = random.normal(size=len(values)) * np.sqrt(np.maximum(values, 0))
            assert not detector.step(reference.mean + vectors @ noise)
        finals.append(detector.statistic.mean())
    assert np.mean(finals) < batches


def test_a_reference_is_written_and_read(reference, tmp_path):
    path = tmp_path / "monitor.json"
    blobs = Blobs(constant=BLOB, table=BLOB)
    replace(reference, blobs=blobs.fingerprints()).save(path)
    again = load_reference(path, blobs)
    np.testing.assert_allclose(again.response, reference.response, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(again.covariance, reference.covariance, rtol=1e-6, atol=1e-12)
    assert again.changes == reference.changes
    assert again.histograms.count == reference.histograms.count == reference.count
    other = Blobs(constant=Blob(numbers=1, sha256="1" * 64), table=BLOB)
    with pytest.raises(ParkfError, match="another parameter set"):
        load_reference(path, other)


def test_too_few_candidates_are_no_reference():
    parameters, tracks = sample(3, 100)
    with pytest.raises(ParkfError, match="expected at least 2000"):
        make_reference(parameters, tracks)


def test_histograms_count_every_usable_candidate(reference, data):
    parameters, tracks = data
    histograms = Histograms.empty(reference.stations)
    values = np.concatenate(list(histograms.filled(parameters, tracks, reference.stations)))
    assert histograms.count == len(values) <= histograms.all == tracks.count
    assert histograms.chi2["SciFi"].sum() == len(values)
    assert histograms.charges.sum() == len(values)
    value, error = histograms.asymmetries()
    assert np.nanmax(np.abs(value)) <= 1
    assert (error[np.isfinite(error)] >= 0).all()
    hits = np.isfinite(tracks.scifi[0][:, 3]).sum()
    assert 0.9 * hits < histograms.pulls["SciFi layer 3"].sum() <= hits


def test_the_scale_of_momenta_is_that_of_the_peak():
    """Peaks of 3090 and 3096 MeV whose mean goes with 3080 MeV times the scale."""
    peaks = {"jpsi": {"mean": 3090.0, "mean_error": 0.3}}
    of = {"jpsi": {"mean": 3096.0, "mean_error": 0.4, "by_scale": 3080.0}}
    found = scale_of(peaks, of)["jpsi"]
    assert found["scale"] == pytest.approx(-6 / 3080)
    assert found["error"] == pytest.approx(0.5 / 3080)
    assert scale_of(peaks, {}) == {}


def test_moments_of_pieces_are_those_of_the_whole():
    """Also where a mean is a million times the spread."""
    values = np.random.default_rng(1).normal([0.0, 1e6, -5.0], 1.0, (500, 3))
    values[:, 2] += values[:, 0]
    count, mean, covariance = moments(np.split(values, [0, 1, 60, 480]))
    assert count == 500
    np.testing.assert_allclose(mean, values.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(covariance, np.cov(values.T), rtol=1e-9, atol=1e-9)


def plain(count):
    """A reference of one quantity of variance 1, which is the size of a change."""
    one = [Change("x", "strips", 0, "x of UT layer 0", 0.03, 0.005)]
    none, stations = np.zeros((1, 1)), Stations(np.zeros(1))
    histograms = Histograms.empty(stations)
    return Reference(["x"], stations, count, none[0], np.eye(1), one, np.eye(1), none, histograms, {})


def test_errors_have_that_of_the_reference():
    """Of means of 4,000 and of 1,000 numbers with the variance 1."""
    error = np.sqrt(1 / 4000 + 1 / 1000)
    (found,) = judge(plain(1000), np.array([0.5]), 4000).found
    assert (found.size, found.error) == pytest.approx((0.5, error))
    detector = Detector(plain(1000), batch=4000)
    detector.step(np.array([0.5]))
    assert detector.alarm()["error"] == pytest.approx(error)


def test_a_likelihood_ratio_is_1_on_average_if_the_reference_is_off_by_three_errors():
    """This bounds false alarms. The average over Gaussian batches is a sum of Gauss and Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    ratios = []
    for node in nodes:
        detector = Detector(plain(9000), batch=1000)
        detector.step(np.array([node / np.sqrt(1000) + 3 / np.sqrt(9000)]))
        ratios.append(detector.statistic[0])
    assert weights @ ratios / weights.sum() == pytest.approx(1, rel=1e-6)


def test_limited_quantities_vanish_and_bound_what_one_hit_does(data):
    """Those of hit errors and noise: 0 on average where errors are Gaussian, whatever a single hit does."""
    parameters, tracks = data
    stations = Stations.of(tracks)
    widths = [n for n, name in enumerate(names(stations)) if name.startswith(("error", "noise"))]
    values, fitted = measure(parameters, tracks, stations, 2.0)
    own = values[:, widths]
    pull = own.mean(axis=0) / own.std(axis=0) * np.sqrt(len(own))
    # In the SciFi, scattering shows in one plane more than in the other: its level is 4 % off.
    assert np.abs(pull[:-1]).max() < 4.5
    assert np.abs(own.mean(axis=0)).max() < 0.08
    x = tracks.scifi[0].copy()
    number = int(np.flatnonzero(usable(fitted) & np.isfinite(x[:, 5]))[0])
    x[number, 5] += 0.6
    there = replace(tracks, scifi=(x, *tracks.scifi[1:]))
    after, fitted = measure(parameters, there, stations, 2.0)
    plain = measure(parameters, there, stations)[0]
    assert usable(fitted)[number]
    place = int(usable(fitted)[:number].sum()), names(stations).index("error of SciFi layer 5")
    assert plain[place] > 3
    assert after[place] < 3.2
    assert core_level(2.0) == pytest.approx(0.92054, abs=1e-5)
