"""Segments found from hits alone are compared with the true hits of the particles."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from parkf.detector.transport import track_through
from parkf.io.events import select
from parkf.io.files import sha256
from parkf.simulation.pattern import candidates as module
from parkf.simulation.pattern import find_candidates
from parkf.simulation.pattern.candidates import distinct_hits, majority, rows_or_none
from parkf.simulation.pattern.magnet import fit_magnet_model
from parkf.simulation.pattern.scifi import search_scifi
from parkf.simulation.pattern.velo import FEWEST_HITS, search_velo
from parkf.simulation.response.hits import respond

from ..gun import shoot

GHOST = 0.7


@pytest.fixture(scope="module")
def magnet(field, geometry):
    return fit_magnet_model(field, geometry)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "crowded"])
def hits(request, field, geometry):
    """Hits of forty stiff particles an event."""
    particles = shoot(events=30, per_event=40, seed=31, p_range=(3e3, 1e5))
    states = track_through(field, -1, geometry, particles, seed=5, threads=2)
    return respond(states, geometry=geometry, seed=5, crowded=request.param)


@pytest.mark.parametrize(("first", "end", "fewest"), [(0, 52, 4), (58, 70, 11)], ids=["VELO", "SciFi"])
def test_particles_are_found_and_little_else(hits, geometry, magnet, first, end, fewest):
    rows, number = distinct_hits(hits)
    distinct = select(hits, rows)
    segments = search_velo(distinct, geometry) if first == 0 else search_scifi(distinct, geometry, magnet)
    particle, purity = majority(hits["particle"], rows_or_none(rows, segments.hits), number)
    assert (purity < GHOST).mean() < 0.15
    owned = pd.MultiIndex.from_arrays([segments.event, particle])[purity >= GHOST]
    assert owned.duplicated().mean() < 0.02
    frame = pd.DataFrame({name: hits[name] for name in ("event", "plane", "particle")})
    frame = frame[(frame.plane >= first) & (frame.plane < end) & (frame.particle >= 0)]
    # The search counts two hits in a pair of modules as one.
    place = frame.plane // 2 if first == 0 else frame.plane
    layers = place.groupby([frame.event, frame.particle]).nunique()
    wanted = layers[layers >= fewest].index
    assert wanted.isin(owned).mean() > 0.95


def test_a_line_of_hits_is_a_velo_segment_and_its_neighbours_are_not(geometry):
    modules = np.arange(20, 32, 2)
    z = geometry.planes()[modules, 0]
    hits = {
        "event": np.zeros(7, np.int32),
        "plane": np.append(modules, modules[-1]).astype(np.int16),
        "particle": np.full(7, -1),
        "x": np.append(0.05 * (z + 200.0), -15.0),
        "y": np.append(0.02 * (z + 200.0), 0.0),
        "z": np.append(z, z[-1]),
        "dxdy": np.zeros(7),
    }
    found = search_velo(hits, geometry)
    assert found.hits[:, :7].tolist() == [[0, 1, 2, 3, 4, 5, -1]]
    assert np.allclose(found.lines[0, 2:], [0.05, 0.02], atol=1e-6)


@pytest.mark.parametrize(
    ("off", "found"),
    [
        ((0.0, 0.0), 1),
        ((0.05, 0.0), 1),
        ((0.0, 0.05), 1),
        ((0.05, 0.05), 0),
        ((0.09, 0.0), 0),
        ((0.0, 0.09), 0),
    ],
)
def test_three_hits_are_a_segment_where_a_line_goes_through_them(geometry, off, found):
    """The middle hit is off by `off` (mm) in x and y; χ² of the line is distance² / 1.5σ², at most 20."""
    modules = np.arange(20, 26, 2)
    z = geometry.planes()[modules, 0]
    z[1] = (z[0] + z[2]) / 2
    middle = np.array([0.0, 1.0, 0.0])
    hits = {
        "event": np.zeros(3, np.int32),
        "plane": modules.astype(np.int16),
        "particle": np.full(3, -1),
        "x": 0.05 * (z + 200.0) + off[0] * middle,
        "y": 0.02 * (z + 200.0) + off[1] * middle,
        "z": z,
        "dxdy": np.zeros(3),
    }
    # σ is 12.5 µm: 0.05 mm gives χ² = 10.7; twice the distance is too much.
    assert len(search_velo(hits, geometry).event) == found


def test_what_flies_backwards_is_left_out(geometry):
    z = geometry.planes()[np.arange(0, 10, 2), 0]
    hits = {
        "event": np.zeros(5, np.int32),
        "plane": np.arange(0, 10, 2, dtype=np.int16),
        "particle": np.full(5, -1),
        "x": -0.1 * z + 1e-3,
        "y": np.zeros(5),
        "z": z,
        "dxdy": np.zeros(5),
    }
    assert len(search_velo(hits, geometry).event) == 0


def test_segments_of_an_event_depend_on_no_other(hits, geometry, magnet):
    late = {name: values[hits["event"] >= 20] for name, values in hits.items()}
    for search in (
        lambda some: search_velo(some, geometry),
        lambda some: search_scifi(some, geometry, magnet),
    ):
        distinct = select(hits, distinct_hits(hits)[0])
        whole, part = search(distinct), search(select(late, distinct_hits(late)[0]))
        rows = whole.event >= 20
        assert np.array_equal(whole.event[rows], part.event)
        shift = (distinct["event"] < 20).sum()
        assert np.array_equal(whole.hits[rows], np.where(part.hits >= 0, part.hits + shift, -1))


def test_workers_and_pieces_do_not_change_a_byte(tmp_path, monkeypatch, geometry, field, collisions):
    paths = [tmp_path / f"{name}.parquet" for name in ("one", "two", "three")]
    for path, workers, events, rows in zip(paths, (1, 2, 1), (10, 10, 7), (0, 10**9, 0), strict=True):
        monkeypatch.setattr(module, "EVENTS_PER_CHUNK", events)
        monkeypatch.setattr(module, "_HITS_PER_CHUNK", rows)
        find_candidates(
            collisions.paths["hits"],
            path,
            geometry=geometry,
            field=field,
            polarity=-1,
            workers=workers,
            segments="found",
        )
    assert len({sha256(path) for path in paths}) == 1
    frame = pq.read_table(paths[0], columns=["purity", "velo_n"]).to_pandas()
    assert (frame.velo_n >= FEWEST_HITS).all()
    assert (frame.purity < GHOST).mean() < 0.25


def test_a_hit_of_two_particles_counts_for_both():
    particle = np.array([4, 5, 4, 5, 7])
    # Rows 0 and 1 are one hit.
    number = np.array([0, 0, 1, 2, 3])
    owner, share = majority(particle, np.array([[0, 3, 4, -1], [0, 2, -1, -1]]), number)
    assert owner.tolist() == [5, 4]
    assert np.allclose(share, [2 / 3, 1.0])


def test_rows_of_one_hit_are_one_hit():
    hits = {
        "event": np.array([0, 0, 0, 1], np.int32),
        "plane": np.array([3, 3, 3, 3], np.int16),
        "particle": np.array([8, 9, 8, 8], np.int32),
        "x": np.array([1.0, 1.0, 1.0, 1.0]),
        "y": np.array([2.0, 2.0, 2.5, 2.0]),
        "z": np.zeros(4),
    }
    rows, number = distinct_hits(hits)
    assert rows.tolist() == [0, 2, 3]
    assert number.tolist() == [0, 0, 1, 2]
    assert rows_or_none(rows, np.array([2, -1, 0])).tolist() == [3, -1, 0]


def test_where_nothing_was_hit_nothing_is_found(geometry, magnet):
    hits = {
        **{name: np.zeros(0, np.int32) for name in ("event", "plane", "particle")},
        **{name: np.zeros(0) for name in ("x", "y", "z", "dxdy", "dzdy", "sigma")},
    }
    assert [len(found) for found in distinct_hits(hits)] == [0, 0]
    assert search_velo(hits, geometry).hits.shape == (0, 26)
    assert search_scifi(hits, geometry, magnet).hits.shape == (0, 12)
