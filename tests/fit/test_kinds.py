"""Fits of kinds of tracks besides long ones: on toys whose truth is known, and by the full fit."""

import dataclasses

import kalman_toy as toy
import numpy as np
import pytest
from uniform_field import uniform

from parkf.fit import cpu, fit
from parkf.fit.inside import carry_inside
from parkf.fit.truth import _true_in_layer
from parkf.io.errors import ParkfError
from parkf.io.events import particle_key
from parkf.io.kinds import KINDS

TRACKS = 6000
FIELD = 0.1  # T, along y, between z_in and z_out: a kick of 0.15 GeV, to keep tracks of 3 GeV on the grid
VARIANCES = {"x": "xx", "y": "yy", "tx": "txtx", "ty": "tyty", "qop": "qopqop"}
SLICES = uniform(FIELD)


def hop(states, polarity):
    return carry_inside(SLICES, states, toy.HEADER[0], toy.HEADER[1], polarity).states


@pytest.fixture(scope="module", params=[3000.0, 20_000.0], ids=["3 GeV", "20 GeV"])
def sample(request):
    return toy.generate(TRACKS, request.param, seed=41, hop=hop)


def fitted(sample, kind, precision=np.float64, **changed):
    sample.parameters.slices = SLICES
    tracks = dataclasses.replace(sample.candidates(precision), **changed)
    return cpu.fit_kind(sample.parameters, tracks, KINDS[kind], threads=2)


def pulls(tracks, truth, z):
    """(fit − truth)/σ of the five numbers at the fit's z, from true states at z nearby."""
    x, y, tx, ty, qop = truth.T
    way = tracks.z - z
    true = {"x": x + tx * way, "y": y + ty * way, "tx": tx, "ty": ty, "qop": qop}
    return {
        name: (getattr(tracks, name) - true[name]) / np.sqrt(getattr(tracks, variance))
        for name, variance in VARIANCES.items()
    }


PLACES = {"downstream": "first UT layer", "scifi": "first SciFi layer"}


@pytest.mark.parametrize("kind", PLACES)
def test_pulls_of_tracks_without_velo_hits_have_unit_width(sample, kind):
    tracks = fitted(sample, kind)
    assert (tracks.status == 0).all()
    for name, values in pulls(tracks, *sample.passed[PLACES[kind]]).items():
        # The errors of 6,000 tracks are known to 1 %. In the SciFi alone the noise is that of the fitted q/p,
        # which is known to a tenth.
        limit = 0.1 if (kind, name) == ("scifi", "qop") else 0.04
        assert np.std(values) == pytest.approx(1, abs=limit), name
        assert abs(values.mean()) < 0.05, name
    hits = {"downstream": 16, "scifi": 12}[kind]
    assert set(tracks.ndof) == {hits - 5}
    assert tracks.chi2.mean() == pytest.approx(hits - 5, rel=0.02)


@pytest.mark.parametrize("kind", PLACES)
def test_the_whole_covariance_is_that_of_the_errors(sample, kind):
    """The χ² of the five errors together has mean five, which correlations of a wrong sign would spoil."""
    tracks = fitted(sample, kind)
    truth, z = sample.passed[PLACES[kind]]
    way = (tracks.z - z)[:, None]
    at = np.column_stack([truth[:, :2] + truth[:, 2:4] * way, truth[:, 2:]])
    away = np.column_stack([tracks.x, tracks.y, tracks.tx, tracks.ty, tracks.qop]) - at
    whole = np.zeros((TRACKS, 5, 5))
    rows, columns = np.tril_indices(5)
    whole[:, rows, columns] = whole[:, columns, rows] = tracks.covariances
    scale = np.sqrt(np.diagonal(whole, axis1=1, axis2=2))
    correlation = whole / scale[:, :, None] / scale[:, None, :]
    unit = away / scale
    chi2 = np.einsum("ni,ni->n", unit, np.linalg.solve(correlation, unit[..., None])[..., 0])
    assert chi2.mean() == pytest.approx(5, rel={"downstream": 0.04, "scifi": 0.1}[kind])


def test_upstream_tracks_know_their_momentum(sample):
    random = np.random.default_rng(3)
    qop = sample.vertex[:, 4] * random.uniform(0.85, 1.15, TRACKS)
    tracks = fitted(sample, "upstream", qop=qop)
    assert (tracks.status == 0).all()
    for name, values in sample.pulls(tracks).items():
        # The noise is that of the fitted q/p, which is known to a sixth.
        assert np.std(values) == pytest.approx(1, abs=0.1 if name == "qop" else 0.06), name
        assert abs(values.mean()) < 0.06, name
    velo = tracks.ndof_velo
    assert set(tracks.ndof_ut) == {3}
    assert set(tracks.ndof_scifi) == {0}
    assert tracks.chi2.mean() == pytest.approx((velo + 3).mean(), rel=0.03)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "long"])
def test_single_precision_loses_nothing(sample, kind):
    single, double = (fitted(sample, kind, precision) for precision in (np.float32, np.float64))
    for name, variance in VARIANCES.items():
        away = np.abs(getattr(single, name) - getattr(double, name)) / np.sqrt(getattr(double, variance))
        assert np.quantile(away, 0.99) < 0.05, name
        ratio = getattr(single, variance) / getattr(double, variance)
        assert np.quantile(np.abs(ratio - 1), 0.99) < 0.02, name


def test_hits_of_other_detectors_are_not_used(sample):
    tracks = sample.candidates(np.float64)
    other = tuple(np.full_like(hits, 7.0) for hits in tracks.velo)
    few = np.zeros_like(tracks.velo_n)
    with_hits, without = fitted(sample, "downstream"), fitted(sample, "downstream", velo=other, velo_n=few)
    np.testing.assert_array_equal(with_hits.qop, without.qop)


def test_few_hits_are_said(sample):
    """Three UT hits and nothing behind determine no five numbers."""
    tracks = sample.candidates(np.float64)
    ut, scifi = (tuple(hits.copy() for hits in of) for of in (tracks.ut, tracks.scifi))
    ut[0][:10, 1:] = np.nan
    scifi[0][:10, 3:] = np.nan
    found = fitted(sample, "downstream", ut=ut, scifi=scifi)
    bit = 8192
    assert ((found.status[:10] & bit) != 0).all()
    assert (found.status[10:] == 0).all()


def test_a_wrong_kind_and_a_set_without_slices_are_refused(sample):
    tracks = sample.candidates(np.float64)
    with pytest.raises(ParkfError, match=r"kind 'downstrem': expected one of long, upstream"):
        fit(sample.parameters, tracks, kind="downstrem")
    sample.parameters.slices = None
    with pytest.raises(ParkfError, match=r"kind 'downstream': the parameter set has no steps inside"):
        fit(sample.parameters, tracks, kind="downstream")
    with pytest.raises(ParkfError, match="by the plain smoother; leave out"):
        fit(sample.parameters, tracks, kind="downstream", robust=True)


def test_the_truth_of_a_layer_is_that_of_its_last_crossing_at_the_fitted_z():
    """Of two particles, the second does not cross the layer. The charge is known from its origin."""
    states = {
        "event": [3, 3],
        "particle": [1, 1],
        "plane": [52, 58],
        "z": [2327.5, 7826.0],
        "p": [4990.0, 4970.0],
    }
    states |= {"x": [10.0, 500.0], "y": [-20.0, 60.0], "tx": [0.1, 0.2], "ty": [-0.05, 0.01]}
    rows = {"z": np.array([2337.5, 2330.0]), "true_qop": np.array([-1 / 5000, 1 / 3000])}
    key = particle_key({"event": np.array([3, 3]), "particle": np.array([1, 2])})
    truth = _true_in_layer(rows, key, {name: np.array(values) for name, values in states.items()}, 52)
    expected = {"p_true": 4990.0, "true_x": 11.0, "true_y": -20.5, "true_tx": 0.1, "true_ty": -0.05}
    expected |= {"true_qop": -1 / 4990}
    for name, value in expected.items():
        assert truth[name][0] == pytest.approx(value), name
        assert np.isnan(truth[name][1]), name
