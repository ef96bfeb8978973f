"""Rows of hits that cannot be are named, and left out where they are few; every file of a job counts."""

import hit_sample
import numpy as np
import pandas as pd
import pytest
import uproot
from step_sample import field_map

from parkf.imports.hits.physics import Run
from parkf.imports.hits.take import take_entries, take_tables
from parkf.io.errors import ParkfError
from parkf.io.findings import settle as told
from parkf.io.tables import CANDIDATES, HITS, PARTICLES

COUNT = 2000
PLANES = len(hit_sample.PLANES)


@pytest.fixture(scope="module")
def field():
    return field_map()


@pytest.fixture(scope="module")
def branches(geometry, field):
    return hit_sample.tree_of(hit_sample.tracks(geometry, field, count=COUNT))


@pytest.fixture
def take(tmp_path, geometry, field, capsys):
    """Write branches, import them, and return what was said and written."""

    def run(branches, *, tracks=True, trust=False, source=None, **options):
        source = source or hit_sample.write_tree(tmp_path / "mine.root", branches)
        paths = {name: tmp_path / f"{name}.parquet" for name in ("hits", "particles", "candidates")}
        wanted = ["candidates"] if tracks else ["hits", "particles"]

        def settle(inspections):
            told(inspections, trust=trust)

        to = {f"{name}_to": paths[name] for name in wanted}
        take_entries(source, Run(field, -1, geometry), settle=settle, **to, **options)
        tables = {"hits": HITS, "particles": PARTICLES, "candidates": CANDIDATES}
        return capsys.readouterr().out, {name: tables[name].open(paths[name]).read() for name in wanted}

    return run


def _cell(branches, name, row, value, column=None):
    values = branches[name].copy().astype(float)
    values[row if column is None else (row, column)] = value
    return branches | {name: values}


@pytest.mark.parametrize("tracks", [True, False])
def test_a_file_given_twice_is_refused(take, branches, tracks):
    twice = {name: np.concatenate([values, values]) for name, values in branches.items()}
    with pytest.raises(ParkfError, match=r"2000 of 4000 .* of an earlier row .*row 2000: .*row 2001: "):
        take(twice, tracks=tracks)


def test_keys_that_are_all_zero_are_refused(take, branches):
    with pytest.raises(ParkfError, match=r"1800 of 2000 .* event and key .*row 1: .*row 2: .*row 3: "):
        take(branches | {"key": 0 * branches["key"]})


@pytest.mark.parametrize("value", [-999.0, np.nan, 1e30])
def test_a_track_without_a_momentum_is_left_out(take, branches, value):
    said, written = take(_cell(branches, "p", 7, value))
    assert "1 of 2000" in said
    assert "row 7" in said
    candidates = written["candidates"].to_pandas()
    assert len(candidates) == COUNT - 1
    assert not ((candidates.event == 0) & (candidates.candidate == 7)).any()
    assert np.isfinite(candidates.qop).all()


def test_more_than_one_track_in_a_thousand_without_a_momentum_is_refused_unless_trusted(take, branches):
    spoilt = _cell(branches, "p", slice(3, 900, 200), 0.0)
    with pytest.raises(ParkfError, match=r"5 of 2000 .*row 3: .*row 203: .*row 403: "):
        take(spoilt)
    _, written = take(spoilt, trust=True)
    assert len(written["candidates"]) == COUNT - 5


@pytest.mark.parametrize(("name", "value"), [("FT_w", 1e-300), ("UT_xAtYEq0", -9990.0), ("FT_x", np.nan)])
def test_a_hit_that_cannot_be_is_left_out(take, branches, name, value):
    """A hit at -9990 mm is far outside of the UT, though within 20 m."""
    said, written = take(_cell(branches, name, 11, value, 2), tracks=False)
    assert "1 of " in said
    assert len(written["hits"]) == COUNT * PLANES - 1
    hits = written["hits"].to_pandas()
    assert ((hits.event == 1) & (hits.particle == 1)).sum() == PLANES - 1
    assert hits.sigma.max() < 1.0


def test_bending_particles_of_no_charge_are_named(take, branches):
    with pytest.raises(ParkfError, match=r"2000 of 2000 .* charge 0.*row 0: pid = 99999; row 1: "):
        take(branches | {"pid": np.full(COUNT, 99999)}, tracks=False)
    said, written = take(_cell(branches, "pid", 5, 22.0), tracks=False)
    assert "row 5: pid = 22" in said
    assert len(written["particles"]) == COUNT - 1
    # Its hits are there; nobody knows whose they are.
    hits = written["hits"].to_pandas()
    assert len(hits) == COUNT * PLANES
    assert (hits.particle == -1).sum() == PLANES


def test_nuclei_have_the_charge_of_their_protons(take, branches):
    """10LZZZAAAI: six protons of twelve nucleons, a nucleus that generators' tables often lack."""
    _, written = take(_cell(branches, "pid", 5, 1000060120.0), tracks=False)
    particles = written["particles"].to_pandas()
    assert particles[(particles.event == 0) & (particles.particle == 5)].charge.tolist() == [6]


def test_clean_hits_are_all_written(take, branches):
    said, written = take(branches, tracks=False)
    assert "left out" not in said
    assert (len(written["hits"]), len(written["particles"])) == (COUNT * PLANES, COUNT)


def test_event_numbers_of_64_bits_are_kept_by_candidates_and_counted_by_hits(take, branches):
    """Generators and searches number events from 0, so hits have both numbers."""
    high = branches["eventID"].astype(np.uint64) * np.uint64(7) + np.uint64(3_000_000_000)
    _, written = take(branches | {"eventID": high})
    np.testing.assert_array_equal(np.sort(high), written["candidates"]["event"].to_numpy())
    _, written = take(branches | {"eventID": high}, tracks=False)
    for rows in (written["hits"].to_pandas(), written["particles"].to_pandas()):
        assert (rows.event == (rows.event_number - 3_000_000_000) // 7).all()
        assert rows.event.max() == COUNT // 10 - 1


def _part(branches, rows):
    return {name: values[rows] for name, values in branches.items()}


def test_files_of_a_job_without_tracks_are_counted(take, branches, tmp_path):
    """One has a tree without entries, one no tree, and one its tree in a folder."""
    hit_sample.write_tree(tmp_path / "job-1.root", _part(branches, slice(0, 1000)))
    hit_sample.write_tree(tmp_path / "job-2.root", _part(branches, slice(0, 0)))
    uproot.recreate(tmp_path / "job-3.root").close()
    hit_sample.write_tree(
        tmp_path / "job-4.root", _part(branches, slice(1000, None)), "tuples/Hits_detectors"
    )
    said, written = take(None, source=str(tmp_path / "job-*.root"))
    assert "files without entries" in said
    assert len(written["candidates"]) == COUNT


def test_files_that_are_all_empty_are_refused(take, tmp_path):
    for number in (1, 2):
        uproot.recreate(tmp_path / f"job-{number}.root").close()
    with pytest.raises(ParkfError, match=r"2 files, none has a tree 'Hits_detectors' with entries"):
        take(None, source=str(tmp_path / "job-*.root"))


def test_a_tree_of_another_name_is_read(take, branches, tmp_path):
    hit_sample.write_tree(tmp_path / "mine.root", branches, "Tracks")
    with pytest.raises(ParkfError, match="no tree 'Hits_detectors'; it has Tracks"):
        take(None, source=tmp_path / "mine.root")
    _, written = take(None, source=tmp_path / "mine.root", tree="Tracks")
    assert len(written["candidates"]) == COUNT


def test_of_two_tables_a_particle_that_cannot_be_is_left_out_too(tmp_path, geometry, field):
    """Its hits stay, as nobody's."""
    made = hit_sample.tracks(geometry, field, count=COUNT)
    plane = np.array(hit_sample.PLANES)
    which = np.searchsorted([52, 56], plane, side="right")
    each = {"det": np.array(["VELO", "UT", "SciFi"])[which], "layer": plane - np.array([0, 52, 58])[which]}
    each |= {"dxdy": made["slope"], "dzdy": geometry.planes()[plane, 2], "err": made["sigma"]}
    hits = {name: np.tile(values, COUNT) for name, values in each.items()}
    hits |= {name: made[name].ravel() for name in "xyz"}
    hits |= {name: np.repeat(made[name], PLANES) for name in ("event", "key")}
    pd.DataFrame(hits | {"ymin": hits["y"] - 50, "ymax": hits["y"] + 50}).to_parquet(tmp_path / "in.parquet")
    tracks = {name: made[name] for name in ("event", "key", "p")} | {"mother_pid": np.full(COUNT, -999999.0)}
    tracks |= {"pid": np.where(np.arange(COUNT) == 5, 22, made["pid"]), "charge": np.sign(made["pid"])}
    tracks |= {"eta": np.arctanh(made["pz"] / made["p"]), "phi": np.arctan2(made["py"], made["px"])}
    pd.DataFrame(tracks | dict.fromkeys(("ovtx_x", "ovtx_y", "ovtx_z"), 0.0)).to_parquet(
        tmp_path / "t.parquet"
    )
    seen, to = [], {f"{name}_to": tmp_path / f"{name}.parquet" for name in ("hits", "particles")}
    checks = Run(field, -1, geometry), seen.extend
    take_tables(tmp_path / "in.parquet", tmp_path / "t.parquet", checks=checks, **to)
    assert "1 of 2000 particles left out" in seen[0].findings[0].what
    assert PARTICLES.open(to["particles_to"]).read().num_rows == COUNT - 1
    particle = HITS.open(to["hits_to"]).read()["particle"].to_numpy()
    assert (len(particle), (particle < 0).sum()) == (COUNT * PLANES, PLANES)


def test_strips_that_lean_otherwise_are_left_out(take, branches):
    said, tables = take(_cell(branches, "UT_dxDy", 7, 0.05, 1))
    assert "dx/dy, expected within 0.02 of its layer's (row 7: dxdy = 0.05" in said
    assert np.isnan(np.array(tables["candidates"]["ut_x"].to_pylist())).sum() == 1


def test_files_of_another_tree_are_counted(take, branches, tmp_path):
    hit_sample.write_tree(tmp_path / "job-1.root", branches)
    with uproot.recreate(tmp_path / "job-2.root") as file:
        file.mktree("Ghosts", {"a": np.float64}).extend({"a": np.ones(3)})
    said, tables = take(branches, source=tmp_path / "job-*.root")
    assert "files without entries" in said
    assert tables["candidates"].num_rows == COUNT
