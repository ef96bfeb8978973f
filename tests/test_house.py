"""The rooms of the package are few and described; imports run downwards."""

import ast
import subprocess
import sys
from pathlib import Path

from tools.house import ROOT, survey

HOUSE = survey()


def test_rooms_keep_the_contract_of_imports() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_few_rooms_on_few_floors() -> None:
    assert len(HOUSE.lines) <= 15
    assert len(HOUSE.floors()) <= 10


def test_no_import_runs_upwards_or_in_a_circle() -> None:
    assert HOUSE.upwards == []
    assert HOUSE.circles == []


def test_every_room_states_its_purpose_and_its_promise() -> None:
    for room, purpose in HOUSE.purpose.items():
        source = (ROOT / "src/parkf" / room / "__init__.py").read_text()
        docstring = ast.get_docstring(ast.parse(source)) or ""
        assert purpose.endswith("."), room
        assert len(docstring.split()) >= 15, f"{room}: what does it promise?"


def test_only_rooms_lie_at_the_top() -> None:
    top = {path.name for path in (ROOT / "src/parkf").glob("*.py")}
    assert top == {"__init__.py"}
