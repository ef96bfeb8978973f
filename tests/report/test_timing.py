"""The drawing of a run's timing page: jobs along a time axis."""

import pytest
from tests.ledgers import entry

from parkf.io.errors import ParkfError
from parkf.io.ledger import Ledger
from parkf.report.figures import PAUSE, gantt
from parkf.report.stages import collect_stages


def stage(*spans, cpu_s=1.0):
    wall = sum(end - begin for begin, end in spans)
    found = {"wall_s": wall, "cpu_s": cpu_s, "peak_mb": 99.0, "jobs": len(spans)}
    return found | {"spans": [list(span) for span in spans]}


def bars(drawn):
    """Begin and end of each bar, by the name of its row."""
    (jobs,) = drawn.panels[0].series
    return list(zip(jobs.y[::3], jobs.x[::3], jobs.x[1::3], strict=True))


def test_bars_lie_where_their_jobs_were():
    drawn = gantt({"b": stage((10.0, 30.0)), "a": stage((20.0, 40.0), (0.0, 10.0))})
    # The axis counts upwards: the stage that began first is the last one, at the top.
    assert bars(drawn) == [("b", 10.0, 30.0), ("a", 20.0, 40.0), ("a", 0.0, 10.0)]


def test_time_in_which_nothing_ran_is_left_out():
    near = gantt({"a": stage((0.0, 10.0)), "b": stage((10.0 + PAUSE / 2, 50.0))})
    far = gantt({"a": stage((0.0, 10.0)), "b": stage((7210.0, 7220.0))})
    assert ["without any job" in one.see for one in (near, far)] == [False, True]
    assert bars(near) == [("b", 10.0 + PAUSE / 2, 50.0), ("a", 0.0, 10.0)]
    assert bars(far) == [("b", 10.0, 20.0), ("a", 0.0, 10.0)]


def test_logs_without_times_give_no_chart():
    without = stage((0.0, 1.0))
    del without["spans"]
    assert gantt({"a": without}) is None


def test_a_ledger_says_how_long_stages_took(tmp_path):
    ledger = Ledger(tmp_path / "results/run")
    usual = {"cpu_s": 2.0, "peak_mb": 50.0}
    ledger.append(entry({"a": "0"}, stage="field", began=100.0, wall_s=9.0, **usual))
    # The second replaces the first.
    ledger.append(entry({"a": "1"}, stage="field", began=200.0, wall_s=3.0, **usual))
    for name, began, other in (("b", 203.0, ""), ("c", 204.0, "results/other")):
        made = {"stage": "rows", "began": began, "wall_s": 2.0, "taken_from": other}
        ledger.append(
            entry({name: "0"}, {"a": "1", "data/x.yaml": "2"}, **made, **(usual | {"peak_mb": 70.0}))
        )
    fitted = {"stage": "train", "values": {"steps": ["UTTF", "T"]}, "began": 206.0, "wall_s": 1.0}
    ledger.append(entry({"d": "0"}, {"b": "0", "c": "0"}, **fitted, **usual))
    found = collect_stages(ledger.run)
    assert list(found["stages"]) == ["field", "rows", "train UTTF, T"]
    assert found["stages"]["field"] == stage((0.0, 3.0), cpu_s=2.0) | {"peak_mb": 50.0, "spans": [(0.0, 3.0)]}
    rows = found["stages"]["rows"]
    assert (rows["jobs"], rows["taken"], rows["wall_s"], rows["cpu_s"]) == (2, 1, 4.0, 4.0)
    assert (found["total_cpu_s"], found["peak_mb"]) == (8.0, 70.0)
    with pytest.raises(ParkfError, match=r"none: no ledger; .*: parkf run none"):
        collect_stages(tmp_path / "results/none")


def test_parts_of_an_earlier_division_do_not_count(tmp_path):
    ledger = Ledger(tmp_path / "results/run")
    for count in (4, 2):
        parts = [f"{number}-of-{count}" for number in range(count)]
        for part in parts:
            ledger.append(entry({f"rows/{part}": "0"}, stage="rows", cpu_s=1.0))
            ledger.append(entry({f"fit/{part}": "0"}, {f"rows/{part}": "0"}, stage="train", cpu_s=4.0))
        ledger.append(entry({"fit": "0"}, {f"fit/{part}": "0" for part in parts}, stage="join", cpu_s=1.0))
    found = collect_stages(ledger.run)["stages"]
    assert {name: one["cpu_s"] for name, one in found.items()} == {"rows": 2.0, "train": 8.0, "join": 1.0}
