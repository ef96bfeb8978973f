"""Hits of another simulation: a small made-up one, and LHCb's where it lies beside the project."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from parkf.errors import ParkfError
from parkf.simulation.foreign import import_hits
from parkf.simulation.pattern import find_candidates
from parkf.tables import CANDIDATES, HITS, PARTICLES
from parkf.validation.core import fit_core

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
        import_hits(**paths)

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
        (lambda f: f.rows.pop("dxdy"), "column 'dxdy' is missing"),
        (lambda f: f.rows.__setitem__("det", "TT"), "row 0: detector 'TT', layer 3 is unknown"),
        (lambda f: f.rows.__setitem__("layer", 4), "row 1: detector 'UT', layer 4 is unknown"),
        (lambda f: f.rows.loc.__setitem__((2, "z"), np.nan), "row 2: 'z' is not a finite number"),
        (lambda f: f.particles.__setitem__("key", 8), r"row 0: particle \(event 2, key 9\) not in"),
    ],
)
def test_what_is_wrong_is_named(foreign, change, message):
    change(foreign)
    with pytest.raises(ParkfError, match=message):
        foreign.write()


@pytest.fixture(scope="module")
def lhcb(tmp_path_factory, geometry, field):
    """Candidates by truth in LHCb's simulation, with its own flags and momenta."""
    if not LHCB.is_dir():
        pytest.skip(f"LHCb's full simulation is not at {LHCB}")
    folder = tmp_path_factory.mktemp("lhcb")
    hits, particles, candidates = (folder / f"{name}.parquet" for name in ("hits", "particles", "candidates"))
    import_hits(LHCB / "hits.parquet", LHCB / "tracks.parquet", hits_to=hits, particles_to=particles)
    find_candidates(hits, candidates, geometry=geometry, field=field, polarity=-1, workers=2, matched=True)
    tracks = pd.read_parquet(LHCB / "tracks.parquet")
    found = CANDIDATES.open(candidates).read().to_pandas()
    return tracks, found.merge(tracks, left_on=["event", "particle"], right_on=["event", "key"])


def test_long_tracks_are_those_of_lhcb(lhcb):
    tracks, found = lhcb
    long = tracks[tracks.isLong]
    ours = set(zip(found.event, found.particle, strict=True))
    # LHCb counts sensors and hits a little differently: one track more, one less.
    assert len(ours ^ set(zip(long.event, long.key, strict=True))) <= 2
    assert len(long) == 738
    assert (found.velo_n == found.n_VELO_layers).all()
    for name, layers in (("ut", "n_UT_layers"), ("scifi", "n_SciFi_layers")):
        assert (np.isfinite(np.stack(found[f"{name}_x"])).sum(1) == found[layers]).all()


def test_the_embedded_field_gives_lhcbs_momenta(lhcb):
    _, found = lhcb
    usable = found[(found.p > 2000) & (found.eta > 2) & (found.eta < 5) & (found.pid.abs() != 11)]
    assert len(usable) == 612
    assert (np.sign(usable.qop) == usable.charge).mean() > 0.99
    core = fit_core((1 / (usable.qop.abs() * usable.p) - 1).to_numpy())
    assert core.width < 0.01
    # The seed's own bias, from energy loss, is -0.4% in the embedded simulation.
    assert abs(core.mean) < 0.006
