"""Figures that compare simulations, on particles whose hits are known by construction, and on LHCb's."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from parkf.detector.field import DipoleSources, evaluate_on_grid
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, load_geometry
from parkf.imports.hits.take import take_tables
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, HITS, PARTICLES
from parkf.proof.validation.likeness import characterise
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.simulate import simulate

from ...gun import shoot

ROOT = Path(__file__).parents[3]
LHCB = ROOT / "../shared/data/lhcb_fullsim"
MAGDOWN = -1


@pytest.fixture(scope="module")
def detector():
    return SimpleNamespace(
        geometry=load_geometry(ROOT / "data/geometry/run3_fullsim.yaml"),
        field=evaluate_on_grid(DipoleSources.load(ROOT / "data/field/dipole.json")),
    )


def files_in(folder):
    return SimpleNamespace(
        **{name: folder / f"{name}.parquet" for name in ("hits", "particles", "matched", "found")}
    )


def with_candidates(files, detector):
    for path, matched in ((files.matched, True), (files.found, False)):
        find_candidates(
            files.hits,
            path,
            geometry=detector.geometry,
            field=detector.field,
            polarity=MAGDOWN,
            workers=2,
            matched=matched,
        )
    return files


def shot(folder, detector, *, seed, **gun):
    """Particles of a gun, their hits and candidates."""
    files = files_in(folder)
    with PARTICLES.writer(files.particles) as writer:
        writer.write_table(pa.table(shoot(seed=seed, **gun), schema=PARTICLES.schema))
    simulate(
        files.particles,
        None,
        files.hits,
        geometry=detector.geometry,
        field=detector.field,
        polarity=MAGDOWN,
        seed=seed,
        threads=2,
    )
    return with_candidates(files, detector)


def figures_of(files):
    return characterise(**vars(files))


@pytest.fixture(scope="module")
def pions(tmp_path_factory, detector):
    """Pions from the origin through the detector."""
    return shot(
        tmp_path_factory.mktemp("pions"),
        detector,
        seed=11,
        events=40,
        per_event=60,
        p_range=(3000.0, 100_000.0),
        slope_max=(0.12, 0.1),
    )


@pytest.fixture(scope="module")
def of_pions(pions):
    return figures_of(pions)


def value(sample, name):
    return sample["figures"][name]["value"]


def error(sample, name):
    return sample["figures"][name]["error"]


def test_errors_of_a_histogram_are_those_of_counts(of_pions):
    """k of n entries are a fraction of k/n with an error of √k/n, so error²/fraction is 1/n in each bin."""
    for name, histogram in of_pions["histograms"].items():
        content, error = np.array(histogram["content"]), np.array(histogram["error"])
        assert (error >= 0).all(), name
        filled = content > 0
        number = content[filled] / error[filled] ** 2
        np.testing.assert_allclose(number, number[0], rtol=1e-9)
        # All n are whole numbers, and so are the numbers of entries.
        assert number[0] == pytest.approx(round(number[0]), rel=1e-9)
        np.testing.assert_allclose(number[0] * content, np.rint(number[0] * content), atol=1e-6)


def test_hits_of_tracks_are_counted(of_pions, pions):
    hits = HITS.open(pions.hits).read().to_pandas()
    assert of_pions["events"] == 40
    for name, planes in (("velo", VELO_PLANES), ("ut", UT_PLANES), ("scifi", SCIFI_PLANES)):
        inside = hits[(hits.plane >= planes.start) & (hits.plane < planes.stop)]
        per_track = len(inside) / (40 * value(of_pions, "long_tracks"))
        assert value(of_pions, f"{name}_hits") == pytest.approx(per_track)
        assert value(of_pions, f"{name}_noise") == pytest.approx((inside.particle < 0).mean())
        assert sum(of_pions["histograms"][name]["content"]) == pytest.approx(1.0)
    tracks = CANDIDATES.open(pions.matched).read(["event", "particle", "ut_x"]).to_pandas()
    tracks = tracks.merge(PARTICLES.open(pions.particles).read().to_pandas(), on=["event", "particle"])
    inside = np.hypot(tracks.px, tracks.py) * np.sinh(5.0) > tracks.pz
    without = sum(not np.isfinite(hits).any() for hits in tracks.ut_x[inside])
    assert without > 0
    assert value(of_pions, "ut_none") == pytest.approx(without / of_pions["tracks"])
    efficiency = 0.966
    expected = efficiency**12, 12 * efficiency**11 * (1 - efficiency)
    for number, share in zip((12, 11), expected, strict=True):
        assert value(of_pions, f"scifi_{number}") == pytest.approx(
            share, abs=4 * error(of_pions, f"scifi_{number}")
        )


def test_particles_from_the_origin_are_prompt(of_pions):
    assert value(of_pions, "displaced") == 0.0
    assert value(of_pions, "vertex_spread") == 0.0


def test_two_rows_of_one_hit_count_once(pions, tmp_path, of_pions):
    hits = HITS.open(pions.hits).read().to_pandas()
    # Every hit of particle 0 was made by particle 1 as well.
    shared = hits[hits.particle == 0].assign(particle=1)
    files = files_in(tmp_path)
    rows = pd.concat([hits, shared]).sort_values(["event", "plane", "x"], kind="stable")
    with HITS.writer(files.hits) as writer:
        writer.write_table(pa.Table.from_pandas(rows, schema=HITS.schema, preserve_index=False))
    again = SimpleNamespace(**vars(pions) | {"hits": files.hits})
    assert value(figures_of(again), "scifi_hits") == value(of_pions, "scifi_hits")


def test_too_few_tracks_are_refused(detector, tmp_path):
    files = shot(tmp_path, detector, seed=1, events=2, per_event=10)
    with pytest.raises(ParkfError, match="tracks, expected at least 50"):
        figures_of(files)


@pytest.mark.skipif(not LHCB.is_dir(), reason=f"LHCb's full simulation is not at {LHCB}")
def test_lhcbs_simulation_is_as_known(tmp_path, detector):
    files = files_in(tmp_path)
    take_tables(
        LHCB / "hits.parquet", LHCB / "tracks.parquet", hits_to=files.hits, particles_to=files.particles
    )
    lhcb = figures_of(with_candidates(files, detector))
    # 612 tracks have enough hits themselves, and 16 together with the hits of their decay products.
    assert (lhcb["events"], lhcb["tracks"]) == (10, 628)
    assert np.argmax(lhcb["histograms"]["velo"]["content"]) == 10
    assert value(lhcb, "ut_all") == pytest.approx(0.96, abs=0.02)
