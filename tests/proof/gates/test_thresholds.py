"""The file of thresholds is checked strictly, and every mistake in it is named."""

from pathlib import Path

import pytest
import yaml

from parkf.io.errors import ParkfError
from parkf.proof.gates import GATES_FILE, load_thresholds

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / GATES_FILE
GOOD = {"gate": "a", "figure": "validation.json: fits/x", "at_most": 1, "reason": "because"}


def test_shipped_file_is_whole():
    names = [one.gate for one in load_thresholds(SHIPPED).gates]
    assert len(names) > 20


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ([], r"gates\.yaml:1: gates: got 0 entries, expected at least 1"),
        ([{**GOOD, "at_mots": 2}], r"gates\.0\.at_mots: unknown key 'at_mots'; did you mean 'at_most'"),
        ([{k: v for k, v in GOOD.items() if k != "reason"}], r"gates\.0\.reason: missing; expected a value"),
        (
            [{**GOOD, "reason": ""}],
            r"gates\.0\.reason: got the text '', expected text of at least 1 character",
        ),
        ([{**GOOD, "at_most": "1"}], r"gates\.0\.at_most: got the text '1', expected a number"),
        ([{**GOOD, "at_most": float("nan")}], r"gates\.0\.at_most: got nan, expected a finite number"),
        ([{**GOOD, "at_most": None}], r"gates\.0: .*at_least or at_most is missing"),
        ([{**GOOD, "at_least": 2}], r"gates\.0: .*at_least 2 is above at_most 1"),
        ([{**GOOD, "figure": "report.json: fits/x"}], r"gates\.0\.figure: got the text 'report\.json"),
        ([{**GOOD, "figure": "validation.json: a[b]/c"}], r"gates\.0: .*'b' is no condition"),
        ([{**GOOD, "over": "accuracy.json: a//c"}], r"gates\.0: .*'' is no part of a path"),
        ([{**GOOD, "minus": "accuracy.json: a//c"}], r"gates\.0: .*'' is no part of a path"),
        ([{**GOOD, "minus": GOOD["figure"], "errors": 3}], r"gates\.0: .*minus stands alone"),
        (
            [{**GOOD, "forms": "best"}],
            r"gates\.0\.forms: got the text 'best', expected 'improved' or 'production'",
        ),
        ([{**GOOD, "at_most_each": [1.0]}], r"gates\.0: .*at_most_each stands alone"),
        (
            [{"gate": "a", "figure": GOOD["figure"], "at_most_each": [1.0, 2.0], "count": 3, "reason": "b"}],
            r"gates\.0: .*count 3 of 2 bounds",
        ),
        ([GOOD, GOOD], r"gate 'a' is there twice"),
        ([GOOD, {**GOOD, "forms": "improved"}], r"gate 'a' is there twice"),
    ],
)
def test_mistakes_are_named(tmp_path, gates, message):
    path = tmp_path / "gates.yaml"
    path.write_text(yaml.safe_dump({"gates": gates}))
    with pytest.raises(ParkfError, match=message):
        load_thresholds(path)


def test_one_name_for_each_set_of_forms(tmp_path):
    path = tmp_path / "gates.yaml"
    path.write_text(yaml.safe_dump({"gates": [GOOD | {"forms": f} for f in ("improved", "production")]}))
    assert len(load_thresholds(path).gates) == 2
