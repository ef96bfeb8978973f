"""The file of thresholds is checked strictly; tests/bad_input has the mistakes of any such file."""

import pytest
import yaml

from parkf.io.errors import ParkfError
from parkf.proof.gates import load_thresholds

GOOD = {"gate": "a", "figure": "validation.json: fits/x", "at_most": 1, "reason": "because"}


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ([], r"gates\.yaml:1: gates: got 0 entries, expected at least 1"),
        ([{k: v for k, v in GOOD.items() if k != "reason"}], r"gates\.0\.reason: missing; expected a value"),
        (
            [{**GOOD, "reason": ""}],
            r"gates\.0\.reason: got the text '', expected text of at least 1 character",
        ),
        ([{**GOOD, "at_most": float("nan")}], r"gates\.0\.at_most: got nan, expected a finite number"),
        ([{**GOOD, "figure": "validation.json: a[b]/c"}], r"gates\.0: .*'b' is no condition"),
        ([{**GOOD, "errors": 3}], r"gates\.0\.errors: "),
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
