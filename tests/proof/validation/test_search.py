"""Figures of a search, on a few tracks that are made by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from samples import make_sample

from parkf.fit.sample import Sample
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, HITS, PARTICLES
from parkf.proof.validation.figures import WORKING_POINT
from parkf.proof.validation.likeness import characterise_search

from ...rows import arrow

SLOTS = {"velo": 26, "ut": 4, "scifi": 12}
FIRST = {"velo": 0, "ut": 52, "scifi": 58}


def _particles(count):
    frame = pd.DataFrame({name: np.zeros(count) for name in PARTICLES.schema.names})
    # All particles have η = 3.05 and 5 GeV, except the last one, which has 1 GeV.
    p = np.where(np.arange(count) < count - 1, 5000.0, 1000.0)
    return frame.assign(
        particle=np.arange(count), pdg_id=211, charge=1, px=p / np.cosh(3.05), pz=p * np.tanh(3.05)
    )


def _hits(count):
    rows = [
        {"event": 0, "plane": FIRST[name] + slot, "particle": particle, "x": 100.0 * particle + slot}
        for particle in range(count)
        for name, used in (("velo", 5), ("ut", 4), ("scifi", 12))
        for slot in range(used)
    ]
    # This SciFi hit belongs to the first particle and to the second.
    rows.append({"event": 0, "plane": 58, "particle": 1, "x": 0.0})
    return pd.DataFrame(rows).assign(**dict.fromkeys(("y", "z", "dxdy", "dzdy", "sigma"), 0.0))


def _candidates(entries):
    """Candidates of (particle, purity, {detector: x})."""
    columns = {
        "event": np.zeros(len(entries)),
        "candidate": np.arange(len(entries)),
        "polarity": np.ones(len(entries)),
        "qop": np.full(len(entries), 2e-4),
        "velo_n": np.full(len(entries), 5),
        "particle": [particle for particle, _, _ in entries],
        "purity": [purity for _, purity, _ in entries],
    }
    for name, kind in CANDIDATES.columns:
        detector = name.split("_")[0]
        if not pa.types.is_fixed_size_list(kind):
            continue
        values = np.full((len(entries), SLOTS[detector]), np.nan, np.float32)
        for row, (particle, _, changed) in enumerate(entries):
            used = {"velo": 5, "ut": 4, "scifi": 12}[detector]
            values[row, :used] = 100.0 * particle + np.arange(used)
            if name.endswith("_x") and detector in changed:
                values[row, 0] = changed[detector]
        columns[name] = values
    return columns


def _write(table, path, columns):
    with table.writer(path) as writer:
        writer.write_table(arrow(table, {name: np.asarray(columns[name]) for name in table.schema.names}))


@pytest.fixture
def files(tmp_path):
    paths = SimpleNamespace(
        **{name: tmp_path / f"{name}.parquet" for name in ("hits", "particles", "matched", "found")}
    )
    _write(PARTICLES, paths.particles, _particles(5))
    _write(HITS, paths.hits, _hits(5))
    _write(CANDIDATES, paths.matched, _candidates([(each, 1.0, {}) for each in range(5)]))
    found = [
        (0, 1.0, {}),
        (1, 0.9, {"ut": 102.0, "scifi": 0.0}),  # its UT hit of another layer; a shared SciFi hit
        (1, 0.8, {"ut": 207.0}),  # a clone with a UT hit of no particle
        (2, 0.5, {}),  # a ghost
    ]
    _write(CANDIDATES, paths.found, _candidates(found))
    return paths


def test_tracks_ghosts_clones_and_wrong_hits_are_counted(files):
    sample = make_sample(n=2000, ghosts=500)
    figures = characterise_search(**vars(files), sample=sample)["figures"]
    value = {name: figure["value"] for name, figure in figures.items()}
    assert value["ghosts"] == pytest.approx(1 / 4)
    assert value["clones"] == pytest.approx(1 / 3)
    # Two of four particles above 2 GeV.
    assert value["efficiency_p_5_10"] == pytest.approx(0.5)
    assert value["efficiency_eta_3_4"] == pytest.approx(0.5)
    assert "efficiency_eta_4_5" not in value
    assert value["wrong_ut"] == pytest.approx(1 / 12)
    assert value["wrong_velo"] == value["wrong_scifi"] == 0
    assert (value["hits_velo"], value["hits_ut"], value["hits_scifi"]) == (5, 4, 12)


def test_efficiencies_are_of_bins_from_2_to_100_gev(files):
    p = np.array([2.5, 4.0, 7.0, 15.0, 50.0])
    particles = _particles(5).assign(px=1000 * p / np.cosh(3.05), pz=1000 * p * np.tanh(3.05))
    _write(PARTICLES, files.particles, particles)
    figures = characterise_search(**vars(files), sample=make_sample(n=2000, ghosts=500))["figures"]
    value = {name: figure["value"] for name, figure in figures.items() if name.startswith("efficiency_p")}
    # The first two were found.
    assert value == {
        "efficiency_p_2_3": 1.0,
        "efficiency_p_3_5": 1.0,
        "efficiency_p_5_10": 0.0,
        "efficiency_p_10_20": 0.0,
        "efficiency_p_20_100": 0.0,
    }


def test_the_cut_keeps_so_many_genuine_tracks(files):
    sample = make_sample(n=4000, ghosts=800)
    # The ghosts' χ² is then only a quarter larger than that of genuine tracks, so the cut keeps some ghosts.
    sample.rows.loc[sample.is_ghost, ["chi2_velo", "chi2_ut", "chi2_scifi"]] /= 8
    figures = characterise_search(**vars(files), sample=sample)["figures"]
    chi2 = sample.rows.eval("chi2_velo + chi2_ut + chi2_scifi") / sample.rows.eval(
        "ndof_velo + ndof_ut + ndof_scifi"
    )
    cut = figures["cut"]["value"]
    assert (chi2[sample.is_genuine] <= cut).mean() == pytest.approx(WORKING_POINT, abs=1 / 4000)
    assert figures["kept"]["value"] == pytest.approx((chi2[sample.is_ghost] <= cut).mean())
    # If the cut were exact, the error would be binomial; the cut's own error adds to it.
    kept = figures["kept"]["value"]
    assert 0 < kept < 1
    assert 0.7 * np.sqrt(kept * (1 - kept) / 800) < figures["kept"]["error"] < 0.1
    assert figures == characterise_search(**vars(files), sample=sample)["figures"]


def test_errors_are_those_of_drawing_events_again(files):
    """Candidates of an event share a factor of χ², so that errors are larger than those of single tracks."""
    sample = make_sample(n=4000, ghosts=800)
    rows, random = sample.rows, np.random.default_rng(6)
    rows["event"] = random.integers(0, 200, len(rows))
    factor = random.uniform(0.8, 1.25, 200)
    for name in ("velo", "ut", "scifi"):
        rows[f"chi2_{name}"] *= factor[rows.event] / np.where(sample.is_ghost, 8, 1)
    chi2 = (rows.eval("chi2_velo + chi2_ut + chi2_scifi") / 30).to_numpy()
    members = [np.flatnonzero(rows.event == event) for event in range(200)]
    drawn = []
    for _ in range(400):
        at = np.concatenate([members[event] for event in random.integers(0, 200, 200)])
        cut = np.quantile(chi2[at][sample.is_genuine[at]], WORKING_POINT)
        drawn.append((cut, (chi2[at][sample.is_ghost[at]] <= cut).mean()))
    figures = characterise_search(**vars(files), sample=sample)["figures"]
    for name, seen in zip(("cut", "kept"), np.std(drawn, axis=0), strict=True):
        assert figures[name]["error"] == pytest.approx(seen, rel=0.2), name


def test_no_ghosts_are_no_figures(files):
    sample = make_sample(n=2000, ghosts=500)
    genuine = Sample(sample.rows[sample.is_genuine])
    with pytest.raises(ParkfError, match=r"found\.parquet: .* 0 ghosts, need both"):
        characterise_search(**vars(files), sample=genuine)
