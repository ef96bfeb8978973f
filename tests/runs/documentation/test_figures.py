"""Times and sizes that the pages state agree with those that were measured, within a factor of two."""

import json
import re

import pytest
from parkf.workflow.running.why import why
from tools.footprint import LARGEST_ALONE, SLOWEST
from tools.output import MOST_LINES, WIDEST

from .blocks import DOCS, ROOT

NUMBERS = {"a": 1, "two": 2, "three": 3, "four": 4, "five": 5}
OUTPUT = ROOT / "benchmarks/results/output.json"
FOOTPRINT = ROOT / "benchmarks/results/footprint.json"
# Page, what it states in minutes and perhaps seconds, and the configuration that takes so long on two cores.
STATED = [
    (ROOT / "README.md", r"On two cores `make run` takes (\w+)\sminutes?", "default"),
    (DOCS / "tutorial.md", r"On two cores it takes (\w+)\sminutes?", "default"),
    (DOCS / "how-to/run.md", r"\| `make run` \|[^|]*\| (\d+) min (\d+) s", "default"),
    (DOCS / "how-to/run.md", r"\| `make smoke` \|[^|]*\| (\d+) min (\d+) s", "smoke"),
    (DOCS / "how-to/run.md", r"\| `make paper` \|[^|]*\| (\d+) min (\d+) s", "paper"),
]


@pytest.fixture(scope="module")
def predicted(tmp_path_factory):
    """Seconds of a run from nothing, by the measured costs of its stages."""
    folder, known = tmp_path_factory.mktemp("empty"), {}
    for name in ("data", "workflow"):
        (folder / name).symlink_to(ROOT / name)

    def seconds(name):
        if name not in known:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                known[name] = why(folder / f"workflow/config/{name}.yaml", 2).wall_s
        return known[name]

    return seconds


@pytest.mark.parametrize(("page", "text", "config"), STATED, ids=lambda one: getattr(one, "stem", None))
def test_stated_times_of_runs_are_those_of_their_stages(page, text, config, predicted):
    found = re.search(text, page.read_text())
    assert found, (page, text)
    minutes, seconds = [*found.groups(), 0][:2]
    stated = 60 * float(NUMBERS.get(minutes, minutes)) + float(seconds)
    assert 0.5 < predicted(config) / stated < 2


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
    assert f"{len(lines)} lines in a run of `smoke`" in (DOCS / "how-to/run.md").read_text()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDEST
    assert measured["its lines that name the log"] == 1
    assert measured["of these without a text"] == measured["its lines about schedulers"] == 0
