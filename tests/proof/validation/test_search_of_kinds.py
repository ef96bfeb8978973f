"""Efficiency and ghosts of a search for a kind of tracks, where half of the true tracks are found."""

import numpy as np
import pytest
from samples import make_sample

from parkf.fit.sample import Sample
from parkf.proof.validation.kinds import measure_search

EDGES = (2000, 20_000, 100_000)


@pytest.fixture(scope="module")
def samples():
    """What a search has found, and the true tracks: it finds those above 51 GeV, and ghosts."""
    rows = make_sample().rows.assign(file=0)
    is_found = (rows.p_true > 51_000) | (rows.purity < 0.7)
    return Sample(rows[is_found]), Sample(rows[rows.purity >= 0.7])


def test_half_of_the_particles_are_found(samples):
    figures = measure_search(*samples, EDGES)
    low, high = figures["efficiency"]
    assert low["efficiency"] == 0
    assert high["efficiency"] == pytest.approx(49 / 80, abs=4 * high["efficiency_error"])
    assert low["n"] + high["n"] == len(samples[1].genuine)


def test_the_share_of_ghosts_is_that_among_all_candidates(samples):
    found, _ = samples
    figures = measure_search(*samples, EDGES)
    assert figures["candidates"] == len(found.genuine) + len(found.ghosts)
    assert figures["ghosts"] == len(found.ghosts) / figures["candidates"]
    # Ghosts have ten times the χ², so that the cut keeps few of them.
    assert figures["chi2"]["working_point"]["ghost"] < 0.01


def test_without_ghosts_there_is_no_cut(samples):
    found, true = samples
    figures = measure_search(Sample(found.rows[found.is_genuine]), true, EDGES)
    assert figures["ghosts"] == 0
    assert 0 < figures["ghosts_error"] < 0.01
    assert "chi2" not in figures
    assert np.isfinite([one["efficiency"] for one in figures["efficiency"]]).all()
