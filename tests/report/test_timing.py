"""The drawings of a run's timing page: jobs along a time axis, and rules below those that they need."""

import csv
import io
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from parkf.report.job_graph import GRAPH_FILE, write_graph

from parkf.io.files import read_json
from parkf.report.gantt import PAUSE, gantt
from parkf.report.rule_graph import draw_rules


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


RULES = {
    "field": {"jobs": 1, "needs": []},
    "simulate": {"jobs": 8, "needs": ["field"]},
    "train": {"jobs": 7, "needs": ["simulate", "field"]},
    "assemble": {"jobs": 1, "needs": ["train", "field"]},
    "late": {"jobs": 1, "needs": []},
    "<report>": {"jobs": 1, "needs": ["assemble", "simulate", "late"]},
}


def test_a_rule_stands_below_what_it_waits_for():
    picture = draw_rules(RULES)
    ElementTree.fromstring(picture.standalone(""))
    names = re.findall(r'<text class="mid" x="([\d.]+)" y="([\d.]+)">([^<]*)', picture.body)
    place = {text.split(" ×")[0]: (float(x), float(y)) for x, y, text in names}
    assert place.keys() == {"field", "simulate", "train", "assemble", "late", "&lt;report&gt;"}
    for name, rule in RULES.items():
        for needed in rule["needs"]:
            here = place[name.replace("<", "&lt;").replace(">", "&gt;")]
            assert place[needed][1] < here[1]
    # A rule that needs nothing stands above the rule that needs it, and does not overlap another.
    assert place["late"][1] == place["assemble"][1]
    assert abs(place["late"][0] - place["assemble"][0]) > 100
    # The arrows simulate → report, field → train and field → assemble follow from others.
    assert picture.body.count('class="wire"') == 5
    assert picture.body.count("needed") == 4
    assert "simulate × 8" in picture.body
    assert ["<report>", "1", "assemble late simulate"] in [*csv.reader(io.StringIO(picture.csv))]


def test_a_line_goes_from_rule_to_rule_beside_the_boxes_between():
    """Three rules lead to the last one by one way, and two by the other, whose line passes a row."""
    needs = {"x": [], "y": ["x"], "z": ["y"], "p": [], "q": ["p"], "last": ["z", "q"]}
    picture = draw_rules({name: {"jobs": 1, "needs": of} for name, of in needs.items()})
    found = re.findall(r'<text class="mid" x="([\d.]+)" y="([\d.]+)">([^<]*)', picture.body)
    place = {text: (float(x), float(y)) for x, y, text in found}
    lines = []
    for path in re.findall(r'class="wire" d="([^"]+)"', picture.body):
        numbers = [float(number) for number in re.findall(r"[\d.]+", path)]
        points = [numbers[:2], *(numbers[i : i + 2] for i in range(6, len(numbers), 6))]
        ends = [
            next(name for name, (x, y) in place.items() if abs(x - a) < 0.2 and abs(y - b) < 40)
            for a, b in (points[0], points[-1])
        ]
        lines.append((*ends, len(points) - 2))
        for x, y in points[1:-1]:
            assert all(abs(x - a) > 20 for a, b in place.values() if abs(y - b) < 20)
    assert sorted(lines) == [
        ("p", "q", 0),
        ("q", "last", 1),
        ("x", "y", 0),
        ("y", "z", 0),
        ("z", "last", 0),
    ]


def test_rules_of_a_run_are_written_without_those_of_others(tmp_path):
    class Job:
        def __init__(self, name):
            self.rule = SimpleNamespace(name=name)

    one, two, train, target, other = map(Job, ("a_hits", "a_hits", "a_train", "a_all", "b_train"))
    needs = {one: {}, two: {one: {"x"}}, train: {one: {"x"}, other: {"y"}}, target: {train: {"z"}}, other: {}}

    write_graph(SimpleNamespace(jobs=list(needs), dependencies=needs), tmp_path, "a_")
    assert read_json(tmp_path / GRAPH_FILE)["rules"] == {
        "hits": {"jobs": 2, "needs": []},
        "train": {"jobs": 1, "needs": ["hits"]},
    }


def test_a_run_for_less_than_the_report_leaves_the_graph_of_the_whole(tmp_path):
    class Job:
        def __init__(self, name):
            self.rule = SimpleNamespace(name=name)

    def rules_after(*names):
        needs = {Job(name): {} for name in names}
        write_graph(SimpleNamespace(jobs=list(needs), dependencies=needs), tmp_path)
        return {*read_json(tmp_path / GRAPH_FILE)["rules"]}

    assert rules_after("hits") == {"hits"}
    assert rules_after("hits", "report") == {"hits", "report"}
    assert rules_after("hits", "publish") == {"hits", "report"}


def test_names_fit_into_their_boxes_which_do_not_overlap():
    long = {name: {"jobs": 12, "needs": []} for name in ("simulate_validation", "simulate_misaligned_hits")}
    picture = draw_rules(long | {"fit": {"jobs": 1, "needs": sorted(long)}})
    found = re.findall(
        r'<rect [^>]*x="([\d.]+)" y="([\d.]+)" width="([\d.]+)".*?>([^<]*)</text>', picture.body
    )
    boxes = {text: (float(y), float(x), float(x) + float(width)) for x, y, width, text in found}
    for text, (_, begin, end) in boxes.items():
        assert end - begin > 6.2 * len(text), text
    (_, _, end), (_, begin, last) = sorted(boxes.values())[:2]
    assert end < begin
    assert last < picture.width
