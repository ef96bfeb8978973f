"""The answers to ten prepared changes that `benchmarks.replace` wrote are right."""

import json
import re

from benchmarks.replace import RIGHT

from parkf.io.project import PROJECT

FOUND = json.loads((PROJECT / "benchmarks/results/replace.json").read_text())


def test_ten_of_ten_answers_are_right():
    answers = {one["change"]: one["answer"] for one in FOUND["changes"]}
    assert answers.keys() == RIGHT.keys()
    assert len(answers) == 10
    assert all(re.match(RIGHT[change], said) for change, said in answers.items())


def test_a_detector_is_asked_about_within_a_minute_of_two_cores():
    assert max(one["seconds"] for one in FOUND["changes"] if one["by"] == "--effect") < 60
