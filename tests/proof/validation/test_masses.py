"""Mass peaks of pairs whose masses are known by construction."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from parkf.fit.sample import Sample
from parkf.io.errors import ParkfError
from parkf.proof.validation.masses import find_pairs, fit_peak, invariant_masses, measure_peak
from parkf.simulation.generate.decays import DECAYS

MUON, JPSI = 105.6583755, 3096.9
EVERY = replace(DECAYS["jpsi"], p_min=0.0, pt_min=0.0, pair_pt_min=0.0)


def decays(n, resolution, seed=3, apart=0.0):
    """J/ψ→μμ, each from its own vertex and boosted along z; both momenta have a relative Gaussian error."""
    random = np.random.default_rng(seed)
    cosine, phi = random.uniform(-0.5, 0.5, n), random.uniform(0, 2 * np.pi, n)
    momentum = np.sqrt(JPSI**2 / 4 - MUON**2)
    gamma = random.uniform(5, 20, n)
    beta = np.sqrt(1 - 1 / gamma**2)
    rows = []
    for sign in (+1, -1):
        along = gamma * (sign * momentum * cosine + beta * JPSI / 2)
        across = sign * momentum * np.sqrt(1 - cosine**2)
        x, y = across * np.cos(phi) / along, across * np.sin(phi) / along
        p = np.hypot(across, along)
        qop = sign / p
        rows.append(
            pd.DataFrame(
                {
                    "file": 0,
                    "event": np.arange(n),
                    "status": 0,
                    "purity": 1.0,
                    "z_end": np.inf,
                    "p_true": p,
                    "pdg_id": -13 * sign,
                    "true_qop": qop,
                    "true_tx": x,
                    "true_ty": y,
                    "qop": qop * (1 + resolution * random.normal(size=n)),
                    "tx": x,
                    "ty": y,
                    "x": x * 20.0 + (apart * y / np.hypot(x, y) if sign > 0 else 0.0),
                    "y": y * 20.0 - (apart * x / np.hypot(x, y) if sign > 0 else 0.0),
                    "z": 20.0,
                }
            )
        )
    return Sample(pd.concat(rows, ignore_index=True))


def test_perfect_tracks_give_the_mass():
    assert invariant_masses(find_pairs(decays(1000, 0.0), EVERY)) == pytest.approx(JPSI, rel=1e-9)


def test_width_follows_the_momentum_resolution():
    """If both momenta have the same error, δm/m = ½ √2 δp/p."""
    peak = measure_peak(decays(20_000, 0.005), EVERY)
    assert peak["width"] == pytest.approx(JPSI * 0.005 / np.sqrt(2), rel=0.03)
    assert peak["mean"] == pytest.approx(JPSI, abs=5 * peak["mean_error"])
    assert peak["parts"] == pytest.approx({"momenta": peak["width"], "directions": 0.0}, rel=0.02, abs=1e-6)


def test_the_histogram_holds_all_pairs_of_the_peak():
    peak = measure_peak(decays(2000, 0.01), EVERY)
    edges, content = peak["histogram"]["edges"], peak["histogram"]["content"]
    # There are 60 bins, from 5 % below the mass to 5 % above it.
    assert (len(edges), len(content)) == (61, 60)
    mass = EVERY.mass
    assert (edges[0], edges[-1]) == pytest.approx((0.95 * mass, 1.05 * mass))
    assert sum(content) == peak["n"] > 1900


def test_tracks_that_miss_each_other_are_no_pair():
    assert len(find_pairs(decays(1000, 0.0, apart=3.0), EVERY)) < 10


def test_tracks_that_pass_within_a_fifth_of_a_millimetre_are_a_pair():
    """The two lines of the toy are exactly `apart` from each other."""
    for apart, pairs in ((0.19, 300), (0.21, 0)):
        assert len(find_pairs(decays(300, 0.0, apart=apart), EVERY)) == pairs


@pytest.mark.parametrize("threshold", ["p_min", "pt_min", "pair_pt_min"])
def test_thresholds_of_the_trigger_line_hold(threshold):
    """Thresholds apply to both tracks and to the pair, whose pT is 0: the toy's mothers fly along z."""
    sample = decays(1000, 0.0)
    p = sample.rows.p_true
    tracks = {"p_min": p, "pt_min": p * np.sin(np.arctan(np.hypot(sample.rows.tx, sample.rows.ty)))}
    values = tracks.get(threshold, pd.Series(np.zeros(2000)))
    cut = float(values.quantile(0.3)) + 1.0
    expected = (values > cut).groupby(sample.rows.event).all().sum()
    assert len(find_pairs(sample, replace(EVERY, **{threshold: cut}))) == expected


@pytest.mark.parametrize("threshold", ["p_min", "pt_min", "pair_pt_min"])
def test_what_is_exactly_at_a_threshold_passes(threshold):
    """Both tracks have 1280 MeV and a pT of 3/5 of it, in opposite directions, so the pair's pT is 0."""
    sample = decays(1, 0.0)
    for name, values in {
        "qop": (1 / 1280, -1 / 1280),
        "tx": (0.75, -0.75),
        "ty": (0.0, 0.0),
        "x": (0.0, 0.0),
        "y": (0.0, 0.0),
    }.items():
        sample.rows[name] = values
    exact = {"p_min": 1280.0, "pt_min": 768.0, "pair_pt_min": 0.0}[threshold]
    for value, found in ((exact, 1), (np.nextafter(exact, np.inf), 0)):
        assert len(find_pairs(sample, replace(EVERY, **{threshold: value}))) == found


def test_a_double_gaussian_is_found_again():
    random = np.random.default_rng(9)
    n = 20_000
    sigma = np.where(random.random(n) < 0.7, 10.0, 30.0)
    peak = fit_peak(random.normal(1865.0, sigma), 1865.0)
    assert peak["mean"] == pytest.approx(1865.0, abs=5 * peak["mean_error"])
    assert (peak["narrow"], peak["wide"]) == pytest.approx((10.0, 30.0), rel=0.06)
    assert peak["share"] == pytest.approx(0.7, abs=0.05)
    assert peak["width"] == pytest.approx(np.sqrt(0.7 * 100 + 0.3 * 900), rel=0.03)


def test_errors_of_a_peak_that_one_gaussian_would_describe():
    """Each peak has the errors of a single Gaussian, although nothing determines the shapes of two."""
    random = np.random.default_rng(10)
    peaks = [fit_peak(random.normal(JPSI, 15.0, 400), JPSI) for _ in range(12)]
    for peak in peaks:
        assert peak["mean_error"] == pytest.approx(15.0 / 400**0.5, rel=0.15)
        assert peak["width_error"] == pytest.approx(15.0 / 800**0.5, rel=0.15)
    # The spread of twelve numbers is known to 21 %.
    assert np.std([peak["mean"] for peak in peaks], ddof=1) == pytest.approx(15.0 / 400**0.5, rel=0.6)
    assert np.std([peak["width"] for peak in peaks], ddof=1) == pytest.approx(15.0 / 800**0.5, rel=0.6)


def test_a_search_that_strays_from_all_entries_comes_back():
    peak = measure_peak(decays(2000, 0.01, seed=3), EVERY)
    assert peak["mean"] == pytest.approx(JPSI, abs=4 * JPSI * 0.01 / 4000**0.5)


def test_too_few_pairs_are_an_error():
    with pytest.raises(ParkfError, match="50 pairs, expected at least 100"):
        measure_peak(decays(50, 0.001), EVERY)
