"""Figures for comparing samples, on a sample whose resolution is known by construction."""

import numpy as np
import pytest
from samples import make_sample, with_momenta

from parkf.fit.sample import Sample
from parkf.io.errors import ParkfError
from parkf.proof.validation.likeness import measure_tracks


def with_angles(sample):
    rows = sample.rows
    rows["true_tx"], rows["true_ty"] = 0.08, 0.06  # eta = 2.998
    return Sample(rows)


def test_widths_and_biases_are_those_put_in():
    figures = measure_tracks(with_angles(make_sample(resolution=0.005, bias=0.001)))
    assert figures["counts"] == {"tracks": 20_000, "failed": 0}
    assert [entry["p_min"] for entry in figures["momentum"]] == [2.0, 5.0, 20.0]
    for entry in figures["momentum"]:
        assert entry["width68"] == pytest.approx(0.005, abs=4 * entry["width68_error"])
        assert entry["core"] == pytest.approx(0.005, abs=4 * entry["core_error"])
        assert entry["bias"] == pytest.approx(0.001, abs=4 * entry["bias_error"])
    assert figures["chi2"]["velo"]["median"] == pytest.approx(1.0, abs=0.1)
    # The width of χ²/16 is √(2/16); the error of a median is 1.25 times the error of a mean.
    expected = 1.2533 * (2 / 16) ** 0.5 / 20_000**0.5
    assert figures["chi2"]["velo"]["median_error"] == pytest.approx(expected, rel=0.1)


def test_error_of_the_half_width_is_its_spread():
    (one,) = measure_tracks(with_angles(with_momenta(make_sample(n=1000), 5000.0)))["momentum"]
    random = np.random.default_rng(5)
    widths = [np.diff(np.quantile(random.normal(size=1000), [0.1587, 0.8413]))[0] / 2 for _ in range(2000)]
    assert one["width68_error"] / one["width68"] == pytest.approx(np.std(widths), rel=0.06)


def test_a_range_of_momenta_contains_its_lower_edge_alone():
    sample = with_momenta(make_sample(n=3000, ghosts=60), 5000.0, 20000.0, 100000.0)
    entries = measure_tracks(with_angles(sample))["momentum"]
    assert [(one["p_min"], one["p_max"], one["n"]) for one in entries] == [
        (5.0, 20.0, 1000),
        (20.0, 100.0, 1000),
    ]


def test_tracks_outside_the_acceptance_do_not_count():
    sample = with_angles(make_sample(n=1000))
    sample.rows["true_tx"] = 0.5
    with pytest.raises(ParkfError, match="0 genuine tracks"):
        measure_tracks(sample)
