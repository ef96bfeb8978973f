"""An event of a run: the particles of its hits, and the paths of the fit and of the truth."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from parkf.report.event import PLANES, load_event
from parkf.simulation.particles import ELECTRON


@pytest.fixture(scope="module")
def run(finished):
    return finished.folder / "results/smoke"


@pytest.fixture(scope="module")
def event(run):
    return load_event(run)


@pytest.fixture(scope="module")
def hard(run, event):
    """Good tracks of one particle above 3 GeV; electrons are left out, because they radiate on their way."""
    rows = pq.read_table(run / f"particles/{event.sample}.parquet", columns=["event", "particle", "pdg_id"])
    there = np.asarray(rows["event"]) == event.number
    pdg_id = dict(
        zip(*(np.asarray(rows[name])[there].tolist() for name in ("particle", "pdg_id")), strict=True)
    )
    return [
        track
        for track in event.tracks
        if track.good and not track.ghost and abs(track.p) > 3 and abs(pdg_id[track.particle]) != ELECTRON
    ]


def at(path, z):
    """Position (x, y) of a path at each z, mm."""
    return np.column_stack([np.interp(z, PLANES, path[:, axis], left=np.nan) for axis in (0, 1)])


def test_a_hit_is_of_the_particle_that_made_it(event):
    assert len(event.tracks) > 5
    for track in event.tracks:
        assert len(track.own) == len(track.velo) + len(track.strips)
    # The purity of candidates is counted in the same way; noise that two of them share may add a hit.
    wrong = [abs(track.own.mean() - track.purity) for track in event.tracks if not track.ghost]
    assert np.median(wrong) < 0.02, wrong


def test_paths_pass_their_hits(hard):
    """A quarter of a radiation length scatters by 13.6 MeV/2p: 50 mm GeV/p over 7.5 m. The bend is 3,600.

    One hadron in twenty scatters off a nucleus, by more.
    """
    far = set()
    for track in hard:
        own = track.own[len(track.velo) :]
        strips = track.strips[own]
        for path in (track.truth, track.fit):
            place = at(path, strips[:, 1])
            away = strips[:, 0] + strips[:, 2] * place[:, 1] - place[:, 0]
            if np.nanmax(np.abs(away)) > 4 * 50 / abs(track.p):
                far.add((track.number, track.p))
        velo = track.velo[track.own[: len(track.velo)]]
        away = np.abs(at(track.fit, velo[:, 2]) - velo[:, :2])
        # The VELO hits of a decay product may all be its mother's.
        assert np.nanmax(away, initial=0.0) < 1 + 3 / abs(track.p), (track.number, track.p)
    assert len(far) <= 1 + len(hard) / 20, far


def test_fit_and_truth_agree_in_momentum_and_charge(hard):
    assert len(hard) > 3
    for track in hard:
        true = track.truth[np.isfinite(track.truth[:, 4]), 4][0]
        assert 1e-3 / true == pytest.approx(track.p, rel=0.1)
