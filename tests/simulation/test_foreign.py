"""Hits of a small made-up simulation, and of LHCb's if its files lie beside the project."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from parkf.imports.hits.take import take_tables
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, HITS, PARTICLES
from parkf.proof.validation.core import fit_core
from parkf.simulation.pattern import find_candidates
from parkf.simulation.plausible import check_hits

# m/cτ in MeV/mm, and the fraction of decays to μν and ππ⁰ (PDG).
LIVES = {211: (139.57 / 7804.5, 1.0), 321: (493.68 / 3711.0, 0.843)}

LHCB = Path(__file__).parents[2] / "../shared/data/lhcb_fullsim"

HIT = {
    "VELO": {
        "layer": 3,
        "x": 1.0,
        "y": 2.0,
        "z": -250.6,
        "dxdy": np.nan,
        "dzdy": np.nan,
        "ymin": np.nan,
        "ymax": np.nan,
    },
    "UT": {
        "layer": 1,
        "x": 30.0,
        "y": np.nan,
        "z": 2365.3,
        "dxdy": 0.087,
        "dzdy": 0.0,
        "ymin": 0.0,
        "ymax": 97.0,
    },
    "SciFi": {
        "layer": 11,
        "x": -500.0,
        "y": np.nan,
        "z": 9402.9,
        "dxdy": 0.0,
        "dzdy": 0.0036,
        "ymin": -2425.0,
        "ymax": 1.0,
    },
}
TRACK = {
    "pid": -321,
    "charge": -1.0,
    "p": 5000.0,
    "eta": 3.0,
    "phi": 0.5,
    "ovtx_x": 0.1,
    "ovtx_y": 0.2,
    "ovtx_z": -3.0,
}


@pytest.fixture
def foreign(tmp_path):
    """Files of one kaon with a hit in each detector, and a noise hit; `write` writes changed frames again."""
    hits = pd.DataFrame(
        [{"event": 2, "key": 9, "det": det, "err": 0.05, **values} for det, values in HIT.items()]
        + [dict(event=2, key=-1, det="UT", err=0.05, **HIT["UT"])]
    )
    tracks = pd.DataFrame([dict(event=2, key=9, mother_pid=-999999.0, **TRACK)])
    paths = {name: tmp_path / f"{name}.parquet" for name in ("hits", "tracks", "hits_to", "particles_to")}

    def write():
        hits.to_parquet(paths["hits"])
        tracks.to_parquet(paths["tracks"])
        take_tables(**paths)

    return SimpleNamespace(rows=hits, particles=tracks, write=write, **paths)


def test_points_lines_and_momenta_come_over(foreign):
    foreign.write()
    hits = HITS.open(foreign.hits_to).read().to_pandas()
    assert hits.plane.tolist() == [3, 53, 53, 69]
    assert sorted(hits.particle) == [-1, 9, 9, 9]
    assert hits.y.tolist() == [2.0, 48.5, 48.5, -1212.0]
    assert hits.dxdy.tolist() == [0.0, 0.087, 0.087, 0.0]
    (kaon,) = PARTICLES.open(foreign.particles_to).read().to_pandas().itertuples()
    momentum = np.array([kaon.px, kaon.py, kaon.pz])
    assert np.linalg.norm(momentum) == pytest.approx(5000.0)
    assert np.arctanh(kaon.pz / 5000.0) == pytest.approx(3.0)
    assert np.arctan2(kaon.py, kaon.px) == pytest.approx(0.5)
    assert (kaon.charge, kaon.mother) == (-1, 0)
    assert kaon.mass == pytest.approx(493.68, abs=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.rows.loc.__setitem__((1, "dxdy"), 1.01), "'dxdy', row 1: got 1.01, expected a slope"),
        (lambda f: f.rows.loc.__setitem__((1, "dxdy"), -1.01), "'dxdy', row 1: got -1.01, expected a slope"),
        (lambda f: f.rows.loc.__setitem__((1, "z"), 20_100.0), "'z', row 1: got 20100, expected mm, within"),
        (lambda f: f.particles.__setitem__("mother_key", "9"), "'mother_key' holds text, expected numbers"),
    ],
)
def test_what_is_wrong_is_named(foreign, change, message):
    """tests/bad_input has the other mistakes."""
    change(foreign)
    with pytest.raises(ParkfError, match=message):
        foreign.write()


def muon(**values):
    made = {"event": 2, "pid": -13, "charge": 1.0, "mother_pid": 211, "mother_key": 9.0, "ovtx_z": 5000.0}
    return TRACK | made | values


def pion(**values):
    return muon(pid=211, mother_pid=321) | values


def decay_of(foreign, *products, mother=211):
    """Make the particle a `mother`, and its SciFi hit the first product's; products have keys 10, 11 …"""
    foreign.rows.loc[foreign.rows.det == "SciFi", ["event", "key"]] = products[0]["event"], 10
    foreign.particles["mother_key"] = np.nan
    foreign.particles[["pid", "charge"]] = mother, 1.0
    for key, product in enumerate(products, 10):
        foreign.particles.loc[len(foreign.particles)] = product | {"key": key}


def test_hits_behind_a_decay_are_the_mothers(foreign):
    """A pion leaves hits up to the UT and decays to a muon. One SciFi hit belongs to both."""
    decay_of(foreign, muon())
    foreign.rows.loc[len(foreign.rows)] = {**foreign.rows[foreign.rows.key == 10].iloc[0], "key": 9}
    foreign.write()
    hits = HITS.open(foreign.hits_to).read().to_pandas()
    assert hits[hits.particle >= 0][["plane", "particle"]].to_numpy().tolist() == [[3, 9], [53, 9], [69, 9]]
    assert (hits.particle < 0).sum() == 1
    particles = PARTICLES.open(foreign.particles_to).read().to_pandas()
    assert particles.pdg_id.tolist() == [211, -13]
    assert particles.z_end.tolist() == [5000.0, np.inf]


def test_a_chain_of_decays_is_one_particle(foreign):
    """Kaon, pion and muon: all hits are the kaon's, and both mothers end where the next one begins."""
    decay_of(foreign, pion(), muon(mother_pid=211, mother_key=10, ovtx_z=8000.0), mother=321)
    foreign.write()
    hits = HITS.open(foreign.hits_to).read().to_pandas()
    assert set(hits.particle) == {-1, 9}
    particles = PARTICLES.open(foreign.particles_to).read().to_pandas()
    assert particles.z_end.tolist() == [5000.0, 8000.0, np.inf]


@pytest.mark.parametrize(
    ("mother", "products", "ends"),
    [
        (321, [muon()], True),
        (321, [pion()], True),
        (321, [pion(), pion(pid=11, charge=-1.0)], True),  # a photon from the neutral pion converts
        (321, [pion(), pion(pid=-211, charge=-1.0)], False),
        (321, [pion(pid=-11)], False),
        (2212, [muon()], False),
        (211, [muon(ovtx_z=2600.0)], False),
        (211, [muon(ovtx_z=9600.0)], False),
        (211, [muon(mother_key=11.0)], False),
        (211, [muon(event=3)], False),
    ],
)
def test_which_products_count_as_their_mothers(foreign, mother, products, ends):
    decay_of(foreign, *products, mother=mother)
    foreign.write()
    hits = HITS.open(foreign.hits_to).read().to_pandas()
    assert hits[hits.plane == 69].particle.iloc[0] == (9 if ends else 10)
    assert hits[hits.plane != 69].particle.tolist() == [9, 9, -1]
    particles = PARTICLES.open(foreign.particles_to).read().to_pandas().sort_values("particle")
    assert particles.z_end.iloc[0] == (5000.0 if ends else np.inf)
    assert np.isinf(particles.z_end.iloc[1:]).all()


def test_without_keys_of_mothers_nothing_counts_as_anothers(foreign):
    decay_of(foreign, muon())
    foreign.particles.pop("mother_key")
    foreign.write()
    assert sorted(HITS.open(foreign.hits_to).read().to_pandas().particle) == [-1, 9, 9, 10]
    assert np.isinf(PARTICLES.open(foreign.particles_to).read().to_pandas().z_end).all()


@pytest.fixture(scope="module")
def lhcb(tmp_path_factory, geometry, field):
    """Candidates by truth in LHCb's simulation, with LHCb's flags and momenta."""
    if not LHCB.is_dir():
        pytest.skip(f"LHCb's full simulation is not at {LHCB}")
    folder = tmp_path_factory.mktemp("lhcb")
    hits, particles, candidates = (folder / f"{name}.parquet" for name in ("hits", "particles", "candidates"))
    take_tables(LHCB / "hits.parquet", LHCB / "tracks.parquet", hits_to=hits, particles_to=particles)
    find_candidates(hits, candidates, geometry=geometry, field=field, polarity=-1, workers=2, matched=True)
    tracks = pd.read_parquet(LHCB / "tracks.parquet")
    found = CANDIDATES.open(candidates).read().to_pandas()
    ends = PARTICLES.open(particles).read(["event", "particle", "z_end"]).to_pandas()
    found = found.merge(ends, on=["event", "particle"])
    return tracks, found.merge(tracks, left_on=["event", "particle"], right_on=["event", "key"])


def test_long_tracks_are_those_of_lhcb(lhcb):
    tracks, found = lhcb
    long = tracks[tracks.isLong]
    # Here a particle that decays has the hits of its products as well, which LHCb's flags and counts omit.
    found, decayed = found[np.isinf(found.z_end)], found[np.isfinite(found.z_end)]
    ours, others = (set(zip(of.event, of.particle, strict=True)) for of in (found, decayed))
    # LHCb counts sensors and hits a little differently, which adds one track and removes one.
    assert len(ours ^ (set(zip(long.event, long.key, strict=True)) - others)) <= 2
    assert (len(long), len(decayed)) == (738, 18)
    assert (found.velo_n == found.n_VELO_layers).all()
    for name, layers in (("ut", "n_UT_layers"), ("scifi", "n_SciFi_layers")):
        assert (np.isfinite(np.stack(found[f"{name}_x"])).sum(1) == found[layers]).all()


def test_lhcbs_pions_and_kaons_decay_as_often_as_they_should(lhcb):
    """Hits of the daughter count, so a track is long wherever its particle decays behind the UT."""
    _, found = lhcb
    hard = found[(found.p > 2000) & found.pid.abs().isin(LIVES)]
    per_mm, counted = np.array([LIVES[kind] for kind in hard.pid.abs()]).T
    # From 2.7 m to the SciFi's last layer, at 9.4 m.
    expected = (counted * -np.expm1(-6700 * per_mm / hard.p)).sum()
    assert abs(np.isfinite(hard.z_end).sum() - expected) < 2 * np.sqrt(expected)


def test_the_embedded_field_gives_lhcbs_momenta(lhcb):
    _, found = lhcb
    usable = found[(found.p > 2000) & (found.eta > 2) & (found.eta < 5) & (found.pid.abs() != 11)]
    # One of the 612 tracks with LHCb's flags is of a kaon that decays in the SciFi, so it has two momenta.
    usable = usable[np.isinf(usable.z_end)]
    assert len(usable) == 611
    assert (np.sign(usable.qop) == usable.charge).mean() > 0.99
    core = fit_core((1 / (usable.qop.abs() * usable.p) - 1).to_numpy())
    assert core.width < 0.01
    # The seed's own bias, from energy loss, is -0.4% in the embedded simulation.
    assert abs(core.mean) < 0.006


@pytest.mark.parametrize("unit", [0.1, 10.0])
def test_hits_in_another_unit_than_the_planes_are_refused(geometry, unit):
    plane = np.arange(len(geometry.planes()))
    hits = {"plane": plane, "z": geometry.planes()[:, 0], "sigma": np.full(len(plane), 0.1)}
    hits |= dict.fromkeys(("x", "y", "dxdy", "dzdy"), np.zeros(len(plane)))
    check_hits(hits, Path("hits.parquet"), geometry)
    with pytest.raises(ParkfError, match=f"column 'z' is {unit:g} times the z of the planes"):
        check_hits(hits | {"z": unit * hits["z"]}, Path("hits.parquet"), geometry)
