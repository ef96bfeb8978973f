"""Rows carried to moved planes, and how a fit responds to them."""

from functools import partial

import numpy as np
import pytest

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.io.events import select
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.training.realign.carrying import NO_PLANE, carry_rows, find_planes, moved_planes
from parkf.training.realign.response import measure_response
from parkf.training.rows import COMPONENTS, StoredRows
from parkf.training.train import train_sets

TRACKS, FIRST, SECOND = 8000, 52, 53
STEP = FORMS["production"].steps["UT"]


@pytest.fixture(scope="module")
def field():
    """A field along y that grows with z, from 0.1 T at 2.3 m by 0.05 T a metre."""
    values = np.zeros((5, 5, 21, 3), np.float32)
    values[..., 1] = 0.1 + 5e-5 * (np.linspace(2200, 2500, 21)[None, None] - 2300)
    return FieldMap(np.array([-3000.0, -3000.0, 2200.0]), np.array([1500.0, 1500.0, 15.0]), values)


@pytest.fixture(scope="module")
def planes():
    """Two planes across the beam, the second of which leans; the others are far away."""
    found = np.column_stack([np.arange(70) * -100.0, np.zeros((70, 2))])
    found[FIRST], found[SECOND] = (2310.0, 0.0, 0.0), (2370.0, 0.0, 0.0036)
    return found


@pytest.fixture(scope="module")
def rows(field, planes):
    """Rows of the first gap of the UT, whose truth scattered where they began."""
    random = np.random.default_rng(1)
    p, charge = random.uniform(3e3, 5e4, TRACKS), random.choice([-1.0, 1.0], TRACKS)
    tx, ty = random.uniform(-0.2, 0.2, (2, TRACKS))
    start = np.column_stack([2310 * tx, 2310 * ty, tx, ty, charge / p])
    angles = 1.3 / p * random.standard_normal((2, TRACKS))
    scattered = start.copy()
    scattered[:, 2:4] += angles.T
    found = {"qop": charge / p, "p_true": p, "polarity": np.ones(TRACKS), "z0": np.full(TRACKS, 2310.0)}
    true = propagate(field, +1, scattered, 2310.0, tuple(planes[SECOND]))
    carried = propagate(field, +1, start, 2310.0, (true.z, 0.0, 0.0))
    for end, states in (("0", start), ("1", true.states), ("e", carried.states)):
        found |= {f"{c}{end}": states[:, i] for i, c in enumerate(COMPONENTS)}
    return found | {"z1": true.z, "group": np.arange(TRACKS) % 4096, "row": np.arange(TRACKS)}


def moved(planes, **by):
    """The planes, some of them shifted along z."""
    after = planes.copy()
    for name, z in by.items():
        after[{"first": FIRST, "second": SECOND}[name], 0] += z
    return after


def test_planes_are_those_of_the_rows(rows, planes):
    assert (find_planes(rows, "0", planes) == FIRST).all()
    assert (find_planes(rows, "1", planes) == SECOND).all()
    assert (find_planes(rows | {"z1": rows["z1"] + 0.1}, "1", planes) == NO_PLANE).all()
    assert list(np.flatnonzero(moved_planes(planes, moved(planes, second=0.1)))) == [SECOND]
    # What has no plane moves with none.
    assert not moved_planes(planes, moved(planes, second=0.1))[NO_PLANE]


def test_rows_in_planes_at_rest_keep_their_bits(rows, planes, field):
    after = planes.copy()
    after[3] += 1.0
    kept = carry_rows(rows, planes, after, field)
    assert all(np.array_equal(kept[name], values) for name, values in rows.items())


def test_a_moved_target_is_reached_by_runge_kutta_and_scattering_keeps_its_angles(rows, planes, field):
    after = moved(planes, second=0.5)
    new = carry_rows(rows, planes, after, field)
    assert np.array_equal(new["x0"], rows["x0"])
    assert np.abs(find_planes(new, "1", after) == SECOND).all()
    start = np.column_stack([*(rows[f"{c}0"] for c in COMPONENTS), rows["qop"]])
    there = propagate(field, +1, start, 2310.0, (new["z1"], 0.0, 0.0))
    lever = (new["z1"] - 2310) / (rows["z1"] - 2310)
    for i, c in enumerate(COMPONENTS):
        assert np.allclose(new[f"{c}e"], there.states[:, i], rtol=0, atol=1e-9)
        off, was = new[f"{c}1"] - new[f"{c}e"], rows[f"{c}1"] - rows[f"{c}e"]
        assert np.allclose(off, was * (lever if c in "xy" else 1), rtol=1e-6, atol=1e-9)


def test_the_truth_of_carried_rows_is_that_of_tracks_in_the_moved_detector(rows, planes, field):
    """Tracks that scatter by the same angles where they begin, and go to the moved target."""
    after = moved(planes, first=0.3, second=0.3)
    new = carry_rows(rows, planes, after, field)
    start = np.column_stack([*(new[f"{c}0"] for c in COMPONENTS), new["qop"]])
    assert np.allclose(new["z0"], 2310.3)
    turned = start.copy()
    # To first order, slopes differ at the target as they did where the track scattered.
    turned[:, 2:4] += np.column_stack([rows[f"t{c}1"] - rows[f"t{c}e"] for c in "xy"])
    true = propagate(field, +1, turned, new["z0"], tuple(after[SECOND]))
    for i, c in enumerate(COMPONENTS):
        width = np.std(rows[f"{c}1"] - rows[f"{c}e"])
        assert np.abs(new[f"{c}1"] - true.states[:, i]).max() < 0.02 * width


def test_rows_that_leave_the_map_are_left_out(rows, planes, field):
    assert not len(carry_rows(rows, planes, moved(planes, second=200.0), field)["qop"])


@pytest.mark.parametrize("by", [{"second": 0.2}, {"first": 0.5, "second": 0.5}])
def test_the_response_is_what_a_fit_of_the_carried_rows_does(rows, planes, field, tmp_path, by):
    def fit(rows, name):
        stored = StoredRows(tmp_path / name)
        stored.append(rows)
        return train_sets([stored], STEP, range(1))[0]

    new = carry_rows(rows, planes, moved(planes, **by), field)
    before, after = fit(rows, "before"), fit(new, "after")
    some = np.arange(0, TRACKS, 8)
    told = measure_response(numpy_step(STEP), before, *(select(one, some) for one in (rows, new)))
    changes = {
        f"p{i}": abs(two - one) / error
        for i, (one, two, error) in enumerate(zip(before.values, after.values, before.errors, strict=True))
        if error
    }
    assert changes[told.number] == pytest.approx(told.shift, abs=0.05 + 4 * told.error, rel=0.1)
    assert max(changes.values()) < 0.05 + 4 * told.error + 1.1 * told.shift
    assert told.shift > 0.3
    assert 0 < told.misfit < 0.1


def test_no_change_is_no_response(rows, planes, field, tmp_path):
    stored = StoredRows(tmp_path / "rows")
    stored.append(rows)
    (fitted,) = train_sets([stored], STEP, range(1))
    again = partial(carry_rows, before=planes, after=planes, field=field)
    told = measure_response(numpy_step(STEP), fitted, rows, again(rows))
    assert (told.shift, told.error, told.misfit) == (0, 0, 0)
