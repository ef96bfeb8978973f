"""Both readers refuse registries that somebody forged, rolled back or cut, and read honest ones."""

import json
import shutil
from pathlib import Path

import pytest
from tools.forgeries import __main__ as forgeries
from tools.forgeries.cases import CASES, HONEST

ROOT = Path(__file__).parents[1]


def test_the_table_of_the_page_is_that_of_the_file():
    cases = json.loads((ROOT / "benchmarks/results/forgeries.json").read_text())["cases"]
    assert forgeries.table(cases) in (ROOT / "docs/how-to/sign.md").read_text()
    assert [(one["kind"], one["what"]) for one in cases] == [
        (one.kind, one.what) for one in (*CASES, *HONEST)
    ]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What both readers say to every case."""
    for program in ("g++", "ssh-keygen"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    return forgeries.try_all(tmp_path_factory.mktemp("forgeries"))


def test_forgeries_are_refused_by_name_and_honest_registries_read(outcomes):
    assert len(CASES) > 50
    assert len(outcomes) == len(CASES) + len(HONEST)
    wrong = [one for one in outcomes if not (one["python"]["good"] and one["cpp"]["good"])]
    assert wrong == []


def test_both_readers_give_the_same_reason(outcomes):
    for one in outcomes:
        python, cpp = one["python"]["said"], one["cpp"]["said"]
        # What is wrong with the text of a JSON file is worded differently.
        assert python == cpp or ": not a JSON file: " in python, one["what"]
