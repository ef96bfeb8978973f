"""What the stages of a run took."""

import pytest
from tests.ledgers import entry

from parkf.io.errors import ParkfError
from parkf.io.ledger import Ledger
from parkf.report.stages import collect_stages


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
    assert found["stages"]["field"] == {"wall_s": 3.0, "cpu_s": 2.0, "peak_mb": 50.0, "jobs": 1}
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
