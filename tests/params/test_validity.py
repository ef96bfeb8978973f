"""The interval logic finds the same valid set as a count run by run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkf.io.errors import ParkfError
from parkf.params.manifest import Validity
from parkf.params.validity import Interval, Moment, Series, validity_of

RUNS = range(12)
limits = st.none() | st.integers(1, 10)
intervals = st.builds(
    lambda first, last: (
        Interval("run", *sorted((first, last))) if None not in (first, last) else Interval("run", first, last)
    ),
    limits,
    limits,
)


@st.composite
def several(draw):
    """Sets r0, r1, …; each may supersede one of the earlier sets, and some are withdrawn."""
    count = draw(st.integers(0, 6))
    names = [f"r{i}" for i in range(count)]
    supersedes = {name: draw(st.sampled_from([None, *names[:i]])) for i, name in enumerate(names)}
    counting = {name: draw(intervals) for name in names if draw(st.booleans())}
    return Series(counting, supersedes), counting, supersedes


def holding(run, counting, supersedes):
    """By definition: the sets for this run, and those among them that no other set of them replaced."""
    for_it = [name for name, interval in counting.items() if interval.holds(run)]
    replaced = set()
    for name in for_it:
        older = supersedes[name]
        while older:
            replaced.add(older)
            older = supersedes[older]
    return tuple(for_it), tuple(name for name in for_it if name not in replaced)


@given(several())
def test_every_run_has_the_sets_that_it_should(made):
    series, counting, supersedes = made
    for run in RUNS:
        found = series.at(Moment("run", run))
        assert (found.versions, found.holding) == holding(run, counting, supersedes)
        # If any set is for a run, at least one holds.
        assert bool(found.versions) == bool(found.holding)


@given(several(), intervals)
def test_for_an_interval_those_hold_that_hold_for_one_of_its_runs(made, interval):
    series, *_ = made
    found = {version for run in range(-1, 13) if interval.holds(run) for version in at(series, run).holding}
    assert series.holding(interval) == sorted(found)


def at(series, run):
    return series.at(Moment("run", run))


@given(st.integers(0, 253_402_300_799))
def test_a_time_is_read_as_it_is_written(second):
    assert Moment.parse(str(Moment("time", second))) == Moment("time", second)


@given(st.integers(0, 999_999_999_999))
def test_so_is_a_run(run):
    assert Moment.parse(str(Moment("run", run))) == Moment("run", run)


def test_times_have_zones():
    noon = Moment.parse("2026-05-03T12:00Z")
    assert Moment.parse("2026-05-03T14:00:00.9+02:00") == noon
    assert str(noon) == "2026-05-03T12:00:00Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tomorrow", "'tomorrow': expected a run number"),
        ("-3", "expected a run number"),
        ("2026-05-03T12:00", "a time without its zone"),
        ("2026-13-03T12:00Z", "expected a run number"),
        ("", "expected a run number"),
    ],
)
def test_what_is_neither_run_nor_time_is_refused(text, message):
    with pytest.raises(ParkfError, match=message):
        Moment.parse(text)


def test_limits_as_somebody_gives_them_become_those_of_a_manifest():
    given = validity_of({"first_time": "2026-05-03T14:00+02:00"})
    assert given == Validity(first_run=None, last_run=None, first_time="2026-05-03T12:00:00Z", last_time=None)
    assert str(Interval.of(given)) == "times from 2026-05-03T12:00:00Z on"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"first_run": 2, "last_run": 1}, "runs 2 to 1 ends before it begins"),
        ({"first_time": "2026-05-03T12:00Z", "last_time": "2026-05-03T11:59Z"}, "ends before it begins"),
        ({"first_run": 2, "last_time": "2026-05-03T12:00Z"}, "limited in runs and in times"),
        ({"first_time": "300000"}, "first_time: got 300000, expected a time"),
    ],
)
def test_limits_that_make_no_interval_are_refused(limits, message):
    with pytest.raises(ParkfError, match=message):
        validity_of(limits)


def test_a_manifest_with_a_time_that_is_none_is_named():
    written = Validity(first_run=None, last_run=None, first_time="2026-13-41T00:00:00Z", last_time=None)
    with pytest.raises(ParkfError, match="2026-13-41T00:00:00Z is no time"):
        Interval.of(written)


def test_runs_and_times_do_not_mix():
    run, time = Interval("run", 3, None), Interval("time", 3, None)
    with pytest.raises(ParkfError, match="limited r1 in runs and r2 in times"):
        Series({"r1": run, "r2": time}, {})
    with pytest.raises(ParkfError, match="limited in runs; ask with a run, got time 1970-01-01T00:00:05Z"):
        Series({"r1": run}, {}).at(Moment("time", 5))
    # A set without limits goes with limits in runs and with limits in times.
    always = Series({"r1": run, "r2": Interval(None, None, None)}, {"r1": None, "r2": "r1"})
    assert always.at(Moment("run", 5)).holding == ("r2",)


def test_supersession_goes_through_sets_that_do_not_count_any_more():
    runs = Interval("run", 1, None)
    series = Series({"r1": runs, "r3": runs}, {"r1": None, "r2": "r1", "r3": "r2"})
    assert series.at(Moment("run", 5)).holding == ("r3",)
