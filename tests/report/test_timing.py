"""The drawing of a run's timing page: jobs along a time axis."""

import csv
import io
import re

import pytest

from parkf.report.gantt import PAUSE, gantt


def stage(*spans, cpu_s=1.0):
    wall = sum(end - begin for begin, end in spans)
    found = {"wall_s": wall, "cpu_s": cpu_s, "peak_mb": 99.0, "jobs": len(spans)}
    return found | {"spans": [list(span) for span in spans]}


def bars(picture):
    """Left edge and width of each bar, by the title that a reader sees."""
    found = re.findall(r'x="([\d.]+)"[^>]*width="([\d.]+)"><title>([^<]*)</title>', picture.body)
    return {title: (float(x), float(width)) for x, width, title in found}


def test_bars_lie_where_their_jobs_were():
    picture = gantt({"b": stage((10.0, 30.0)), "a": stage((20.0, 40.0), (0.0, 10.0))})
    drawn = bars(picture)
    assert list(drawn) == [
        # The stage that began first comes first.
        "a: 20.0 s, from 20.0 to 40.0 s",
        "a: 10.0 s, from 0.0 to 10.0 s",
        "b: 20.0 s, from 10.0 to 30.0 s",
    ]
    (late, long), (first, short), (middle, _) = drawn.values()
    assert long == pytest.approx(2 * short, abs=0.2)
    assert (late - first) == pytest.approx(2 * (middle - first), abs=0.2)
    assert "2 jobs, 30.0 s, 0.0 cores, 99 MB" in picture.body
    assert "jobs at once, 2 at most" in picture.body
    assert [*csv.reader(io.StringIO(picture.csv))][1:] == [
        ["a", "20", "40"],
        ["a", "0", "10"],
        ["b", "10", "30"],
    ]


def test_time_in_which_nothing_ran_is_left_out():
    near = gantt({"a": stage((0.0, 10.0)), "b": stage((10.0 + PAUSE / 2, 50.0))})
    far = gantt({"a": stage((0.0, 10.0)), "b": stage((7210.0, 7220.0))})
    assert "cut" not in near.body
    assert far.body.count("cut") == 1
    assert ["without any job" in one.see for one in (near, far)] == [False, True]
    (begin, width), (second, _) = bars(far).values()
    assert second == pytest.approx(begin + width, abs=0.2)


def test_logs_without_times_give_no_chart():
    without = stage((0.0, 1.0))
    del without["spans"]
    assert gantt({"a": without}) is None
