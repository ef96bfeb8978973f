"""Times and sizes that the pages state agree with those that were measured, within a factor of two."""

import json
import re

import pytest
from tools.footprint import LARGEST_ALONE, SLOWEST
from tools.output import MOST_LINES, WIDEST

from .blocks import DOCS, ROOT

NUMBERS = {"a": 1, "two": 2, "three": 3, "four": 4, "five": 5}
FAMILY = ROOT / "benchmarks/results/family.json"
OUTPUT = ROOT / "benchmarks/results/output.json"
FOOTPRINT = ROOT / "benchmarks/results/footprint.json"
# Pages, and how they state the time of a default run on two cores in minutes and perhaps seconds.
STATED = [
    (ROOT / "README.md", r"On two cores `make run` takes (\w+)\sminutes?"),
    (DOCS / "tutorial.md", r"On two cores it takes (\w+)\sminutes?"),
    (DOCS / "how-to/run.md", r"\| `make run` \|[^|]*\| (\d+) min (\d+) s"),
]


@pytest.mark.parametrize(("page", "text"), STATED, ids=lambda one: getattr(one, "stem", None))
def test_stated_times_of_a_run_were_measured(page, text):
    found = re.search(text, page.read_text())
    assert found, (page, text)
    minutes, seconds = [*found.groups(), 0][:2]
    stated = 60 * float(NUMBERS.get(minutes, minutes)) + float(seconds)
    assert 0.5 < json.loads(FAMILY.read_text())["one"]["wall_s"] / stated < 2


def test_stated_sizes_and_times_of_an_installation_were_measured():
    measured = json.loads(FOOTPRINT.read_text())
    page = (DOCS / "how-to/install.md").read_text()
    alone, whole = (
        next(value for name, value in measured.items() if name.startswith(f"{what}: size"))
        for what in ("alone", "with [train]")
    )
    assert alone <= LARGEST_ALONE
    for size in (alone, whole):
        assert f" {size:.0f} MB" in page
    first = measured[f"alone: to the first tracks [s] (at most {SLOWEST})"]
    assert first <= SLOWEST
    assert f"after {first:.0f} s." in page
    # One of a checkout, with a compiler's cache; one of the source distribution elsewhere, without a cache.
    assert measured["a second build has the same bytes"] is True


def test_the_output_of_a_run_off_a_terminal_was_measured():
    measured = json.loads(OUTPUT.read_text())
    lines = measured["output"]
    page = (DOCS / "how-to/run.md").read_text()
    assert f"no line is longer than {WIDEST} letters" in page
    assert f"a run of `smoke` has at most {MOST_LINES} lines" in page
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDEST
    assert measured["its lines that name the log"] == 1
    assert measured["of these without a text"] == measured["its lines about schedulers"] == 0
