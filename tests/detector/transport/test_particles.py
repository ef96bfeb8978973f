"""Particles through the whole detector: order, planes, repeatability, and refusal of impossible input."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from beam import pions

import parkf._transport as _transport
from parkf.detector.alignment import Alignment
from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Z_IN, Z_OUT, Geometry
from parkf.detector.transport import propagate, track_through
from parkf.io import tables
from parkf.io.errors import ParkfError
from parkf.simulation.plausible import check_particles

COUNT = 400


@pytest.fixture(scope="module")
def particles() -> pd.DataFrame:
    return pions(COUNT, seed=3, p_min=2000.0, an_event=20)


@pytest.fixture(scope="module")
def states(field: FieldMap, geometry: Geometry, particles: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(track_through(field, -1, geometry, particles, seed=11))


def test_columns_are_the_tables(states: pd.DataFrame) -> None:
    assert list(states.columns[:-1]) == [name for name, _ in tables.STATES.columns if name != "polarity"]
    assert states.columns[-1] == "hardest"
    assert (states.groupby(["event", "particle"]).hardest.diff().dropna() >= 0).all()
    assert len(states) > 0
    assert states.notna().all().all()


def test_rows_are_in_order(states: pd.DataFrame) -> None:
    keys = states[["event", "particle", "z"]]
    pd.testing.assert_frame_equal(keys, keys.sort_values(["event", "particle", "z"]).reset_index(drop=True))
    assert not states.duplicated(["event", "particle", "plane"]).any()


def test_states_lie_on_their_planes(states: pd.DataFrame, geometry: Geometry) -> None:
    planes = geometry.planes()[states.plane]
    expected = planes[:, 0] + planes[:, 1] * states.x + planes[:, 2] * states.y
    np.testing.assert_allclose(states.z, expected, atol=1e-8)


def test_every_plane_is_seen(states: pd.DataFrame) -> None:
    by_plane = states.groupby("plane").active.agg(["size", "mean"])
    assert set(by_plane.index) >= {*UT_PLANES, Z_IN, Z_OUT, *SCIFI_PLANES}
    velo = states[states.plane.isin(VELO_PLANES)]
    assert velo.active.all()
    assert 5 < len(velo) / COUNT < 15
    assert (by_plane.loc[list(SCIFI_PLANES), "mean"] > 0.7).all()


def test_momentum_only_falls(states: pd.DataFrame) -> None:
    change = states.groupby(["event", "particle"]).p.diff().dropna()
    assert (change <= 0).all()


def test_nothing_scatters_between_magnet_and_first_layer(field: FieldMap, states: pd.DataFrame) -> None:
    keys = ["event", "particle"]
    out = states[states.plane == Z_OUT].set_index(keys)
    layer = states[states.plane == SCIFI_PLANES.start].set_index(keys).loc[out.index]
    assert (out.p == layer.p).all()
    assert (layer.z < out.z).mean() > 0.3
    assert (layer.z > out.z).mean() > 0.3


def test_half_the_material_lies_before_the_state(states: pd.DataFrame) -> None:
    """The last UT layer scatters again behind its state: the state at z_in includes the second half layer."""
    keys = ["event", "particle"]
    last = states[(states.plane == UT_PLANES[3]) & states.active].set_index(keys)
    behind = states[states.plane == Z_IN].set_index(keys).loc[last.index]
    assert (behind.p < last.p).all()


def test_ends_leave_no_states_behind_them(
    field: FieldMap, geometry: Geometry, particles: pd.DataFrame, states: pd.DataFrame
) -> None:
    rng = np.random.default_rng(4)
    mortal = particles.assign(z_end=rng.choice([400.0, 2400.0, 9000.0, np.inf], COUNT))
    found = pd.DataFrame(track_through(field, -1, geometry, mortal, seed=11))
    end = states.merge(mortal[["event", "particle", "z_end"]], on=["event", "particle"]).z_end
    expected = states[states.z <= end].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_long_tracks_alone(
    field: FieldMap, geometry: Geometry, particles: pd.DataFrame, states: pd.DataFrame
) -> None:
    """`long_only` keeps the states of particles with three VELO hits that reach the end, and no others."""
    active = states[states.active]
    keys = [active.event, active.particle]
    velo = active.plane.isin(VELO_PLANES).groupby(keys).sum()
    last = (active.plane == SCIFI_PLANES[-1]).groupby(keys).any()
    chosen = (velo >= 3) & last
    assert 0.3 < chosen.mean() < 0.99
    rows = pd.MultiIndex.from_frame(states[["event", "particle"]]).isin(chosen[chosen].index)
    found = pd.DataFrame(track_through(field, -1, geometry, particles, seed=11, long_only=True))
    pd.testing.assert_frame_equal(found, states[rows].reset_index(drop=True), check_exact=True)


def test_every_build_gives_the_same_bits(
    field: FieldMap, geometry: Geometry, particles: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _transport.builds()[-1] == "plain"
    assert _transport.builds()[0] == _transport.instruction_sets()[-1]
    found = set()
    original = _transport.track_through
    for build in _transport.builds():
        monkeypatch.setattr(_transport, "track_through", partial(original, build=build))
        found.add(_bytes(track_through(field, -1, geometry, particles, seed=5)))
    assert len(found) == 1


def _bytes(states: dict[str, np.ndarray]) -> bytes:
    return b"".join(column.tobytes() for column in states.values())


def test_same_seed_same_bytes(field: FieldMap, geometry: Geometry, particles: pd.DataFrame) -> None:
    """The bytes do not depend on the order or division of the work."""
    one = track_through(field, -1, geometry, particles, seed=5, threads=1)
    many = track_through(field, -1, geometry, particles.sample(frac=1.0, random_state=1), seed=5, threads=3)
    assert _bytes(one) == _bytes(many)
    alone = track_through(field, -1, geometry, particles[particles.event == 7], seed=5)
    together = {name: column[one["event"] == 7] for name, column in one.items()}
    assert _bytes(alone) == _bytes(together)
    other = track_through(field, -1, geometry, particles, seed=6)
    assert _bytes(one) != _bytes(other)


def test_moved_sensors_see_moved_tracks(field: FieldMap, geometry: Geometry, particles: pd.DataFrame) -> None:
    alignment = {"tag": "test", "velo_halves": {}, "velo_modules": {}, "ut_layers": {}, "scifi_layers": {}}
    moved = geometry.align(Alignment.model_validate(alignment | {"velo_halves": {"left": {"x": 20.0}}}))
    states = pd.DataFrame(track_through(field, -1, moved, particles, seed=11))
    left = [
        plane for plane, (_, side) in zip(VELO_PLANES, geometry.velo.modules, strict=True) if side == "left"
    ]
    hits = states[states.plane.isin(left)]
    lowest = min(sensor.x - 0.71 * 0.5 * (42.57 + 14.08) for sensor in geometry.velo.left.sensors)
    assert hits.x.min() > lowest + 20.0


def test_a_secondary_starts_where_it_is_born(
    field: FieldMap, geometry: Geometry, particles: pd.DataFrame
) -> None:
    late = particles.assign(z=7000.0)
    states = pd.DataFrame(track_through(field, -1, geometry, late, seed=1))
    assert states.z.min() > 7000.0


def test_no_particles_no_states(field: FieldMap, geometry: Geometry, particles: pd.DataFrame) -> None:
    states = track_through(field, -1, geometry, particles[:0], seed=1)
    assert all(len(column) == 0 for column in states.values())


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda p: p.assign(px=np.nan), "'px', row 0: got nan"),
        (lambda p: p.assign(mass=0.0), "'mass', row 0: got 0"),
    ],
)
def test_impossible_particles_are_refused_where_they_are_read(
    particles: pd.DataFrame, change, complaint: str
) -> None:
    columns = {name: values.to_numpy() for name, values in change(particles).items()}
    with pytest.raises(ParkfError, match=complaint):
        check_particles(columns, Path("particles.parquet"))


def test_a_particle_that_occurs_twice_is_refused(
    field: FieldMap, geometry: Geometry, particles: pd.DataFrame
) -> None:
    with pytest.raises(ParkfError, match="occurs twice"):
        track_through(field, -1, geometry, particles.assign(particle=1), seed=1)


def test_without_material_the_way_is_runge_kuttas(
    field: FieldMap, geometry: Geometry, particles: pd.DataFrame
) -> None:
    heavy = particles.assign(px=particles.px * 1e6, py=particles.py * 1e6, pz=particles.pz * 1e6)
    states = pd.DataFrame(track_through(field, -1, geometry, heavy, seed=1))
    last = states[states.plane == SCIFI_PLANES[-1]].set_index(["event", "particle"])
    start = heavy.set_index(["event", "particle"]).loc[last.index]
    p = np.sqrt(start.px**2 + start.py**2 + start.pz**2)
    begin = np.column_stack([start.x, start.y, start.px / start.pz, start.py / start.pz, start.charge / p])
    ends = propagate(field, -1, begin, start.z, tuple(geometry.planes()[SCIFI_PLANES[-1]]))
    np.testing.assert_allclose(last[["x", "y"]], ends.states[:, :2], atol=0.01)
