import numpy as np
import pandas as pd
import pytest

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Z_IN, Z_OUT
from parkf.detector.transport.particles import FEWEST_VELO_MODULES
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.tables import HITS
from parkf.simulation.generate.interactions import Z_END
from parkf.simulation.particles import P_MIN, long_like, without_kinks
from parkf.simulation.response import simulate as module
from parkf.simulation.response.simulate import simulate


def test_threads_do_not_change_a_byte(tmp_path, geometry, field, collisions):
    states, hits = tmp_path / "states.parquet", tmp_path / "hits.parquet"
    simulate(
        collisions.paths["particles"],
        states,
        hits,
        geometry=geometry,
        field=field,
        polarity=-1,
        seed=3,
        threads=1,
    )
    assert sha256(states) == sha256(collisions.paths["states"])
    assert sha256(hits) == sha256(collisions.paths["hits"])


def test_states_and_hits_can_be_made_apart(tmp_path, geometry, field, collisions):
    hits = tmp_path / "hits.parquet"
    simulate(collisions.paths["particles"], None, hits, geometry=geometry, field=field, polarity=-1, seed=3)
    assert sha256(hits) == sha256(collisions.paths["hits"])
    with pytest.raises(ParkfError, match="nothing to simulate"):
        simulate(
            collisions.paths["particles"], None, None, geometry=geometry, field=field, polarity=-1, seed=3
        )


def test_hits_of_some_crossings_alone_change_no_state(tmp_path, geometry, field, collisions, monkeypatch):
    states, hits = tmp_path / "states.parquet", tmp_path / "hits.parquet"
    common = {"geometry": geometry, "field": field, "polarity": -1, "seed": 3}
    monkeypatch.setattr(module, "EVENTS_PER_PIECE", 10)
    simulate(collisions.paths["particles"], states, hits, hits_before=20, **common)
    assert sha256(states) == sha256(collisions.paths["states"])
    wanted = collisions.hits[collisions.hits.event < 20].reset_index(drop=True)
    pd.testing.assert_frame_equal(HITS.open(hits).read().to_pandas(), wanted)
    with pytest.raises(ParkfError, match="hits-before: got 25, expected a multiple of 10"):
        simulate(collisions.paths["particles"], states, hits, hits_before=25, **common)


def test_fates_tell_the_hardest_scattering(collisions):
    fates = collisions.fates
    assert not fates.duplicated(["event", "particle"]).any()
    long = collisions.candidates[collisions.candidates.purity > 0.7][["event", "particle"]].drop_duplicates()
    hardest = long.merge(fates, on=["event", "particle"]).hardest
    assert len(hardest) == len(long)
    # The largest of some fifty normal angles in two dimensions is √(2 ln 50) = 2.8 widths. Coulomb scatters
    # off single nuclei reach far beyond: an angle three times as large is a ninth as frequent.
    assert 2.8 < hardest.median() < 5
    kind = long.merge(collisions.particles, on=["event", "particle"]).pdg_id.abs()
    hard = hardest[kind > 100]
    beyond = [(hard > limit).mean() for limit in (7, 21)]
    assert 0.02 < beyond[0] < 0.3
    # A pion crosses 18 g/cm² of VELO, RICH 1, UT and SciFi, and scatters elastically once in 325 g/cm². The
    # search loses some of these tracks.
    nuclear = beyond[1] - beyond[0] / 9
    assert 0.3 * 18 / 325 < nuclear < 1.1 * 18 / 325


def test_particles_with_a_kink_train_nothing():
    """The hardest scattering so far grows along a track; the last state decides."""
    states = {
        "event": np.repeat([0, 0, 1], 3),
        "particle": np.repeat([0, 4, 4], 3),
        "hardest": np.array([2.0, 3.0, 29.9, 2.0, 2.0, 30.1, 500.0, 500.0, 500.0]),
    }
    kept = without_kinks(states)
    assert list(zip(kept["event"], kept["particle"], strict=True)) == [(0, 0)] * 3


def test_true_states_are_of_particles_worth_training_on(collisions):
    particles = collisions.particles.set_index(["event", "particle"])
    states = collisions.states
    of = particles.loc[pd.MultiIndex.from_frame(states[["event", "particle"]])]
    assert (np.sqrt(of.px**2 + of.py**2 + of.pz**2) > P_MIN).all()
    assert (of.pdg_id.abs() != 11).all()
    assert (states.polarity == -1).all()
    assert (states.active | states.plane.isin([Z_IN, Z_OUT])).all()
    tracks = states[states.active].groupby(["event", "particle"]).plane
    assert (tracks.agg(lambda plane: (plane < VELO_PLANES.stop).sum()) >= FEWEST_VELO_MODULES).all()
    assert (tracks.max() == SCIFI_PLANES[-1]).all()
    # All tracks with the hits of a long track are kept, so there are as many as in the experiment.
    assert 40 < tracks.ngroups / collisions.events < 75


def test_tracks_end_where_particles_do(collisions):
    hits = collisions.hits[collisions.hits.particle >= 0]
    ends = collisions.particles.set_index(["event", "particle"]).z_end
    z_end = ends.loc[pd.MultiIndex.from_frame(hits[["event", "particle"]])].to_numpy()
    assert np.isfinite(z_end).mean() < 0.3
    # A strip's z is at y = 0; because strips lean, it differs from the crossing's z by at most 9 mm. Behind
    # the UT, hits of decay products count as the mother's.
    beyond = hits.z.to_numpy() >= z_end + 10
    assert (z_end[beyond] > Z_END).all()
    assert 0.002 < beyond.mean() < 0.03


def test_long_tracks_look_like_those_of_the_experiment(collisions):
    hits = collisions.hits[collisions.hits.particle >= 0]
    detector = np.where(
        hits.plane < UT_PLANES.start, "velo", np.where(hits.plane < UT_PLANES.stop, "ut", "scifi")
    )
    layers = hits.groupby(["event", "particle", detector]).plane.nunique().unstack(fill_value=0)
    tracks = collisions.particles.set_index(["event", "particle"]).join(layers)
    p = np.sqrt(tracks.px**2 + tracks.py**2 + tracks.pz**2)
    eta = np.arctanh(tracks.pz / p)
    usable = (tracks.velo >= 3) & (tracks.scifi >= 9) & (p > 2000) & (eta > 2) & (eta < 5)
    usable &= tracks.pdg_id.abs() != 11
    long = tracks[usable]
    # Full simulation of LHCb: 61 a crossing with 6.4 vertices, 9.3 VELO hits, 94% with all UT layers.
    assert 50 < len(long) / collisions.events < 75
    assert 8.5 < long.velo.mean() < 10.5
    assert (long.ut == 4).mean() > 0.9
    assert long.scifi.value_counts().idxmax() == len(SCIFI_PLANES)
    quantiles = np.quantile(p[usable], [0.05, 0.25, 0.5, 0.75, 0.95]) / 1e3
    assert np.allclose(quantiles, [2.4, 4.1, 7.4, 14.3, 39.0], rtol=0.15)


def test_hits_are_in_order(collisions):
    hits = HITS.open(collisions.paths["hits"]).read().to_pandas()
    assert np.array_equal(np.lexsort((hits.x, hits.plane, hits.event)), np.arange(len(hits)))


def test_a_long_track_has_three_velo_hits_and_the_last_scifi_layer():
    """Track 0 has two VELO hits, 1 has three, 2 has no last layer; one of track 3's is off its sensor."""
    last = SCIFI_PLANES[-1]
    planes = [0, 2, last, 0, 2, 4, last, 0, 2, 4, 0, 2, 4, last]
    track = [0] * 3 + [1] * 4 + [2] * 3 + [3] * 4
    active = np.array([True] * 11 + [False] + [True] * 2)
    assert long_like(np.array(planes), active, np.array(track), 4).tolist() == [False, True, False, False]
