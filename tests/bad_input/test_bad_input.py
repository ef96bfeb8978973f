"""Each bad input is refused with one line of message and the documented exit code, and leaves no output.

`messages.txt` has the expected messages, a row for each input. `PARKF_UPDATE=1 pytest -n 0 tests/bad_input`
writes it: read what has changed there. Parts that come from YAML, JSON, NumPy, Arrow or Typer change with
their versions, and are not compared.
"""

import os
import re
from pathlib import Path

import pytest

from . import commands, configuration, detector, sets, tables
from .case import ROOT, Case, ran

CASES = [case for part in (configuration, detector, tables, sets, commands) for case in part.CASES]
TABLE = Path(__file__).with_name("messages.txt")
HEAD = "| door | what is wrong | exit code | message |\n|---|---|---|---|\n"
LONGEST = 300
UPDATES = bool(os.environ.get("PARKF_UPDATE"))
WRITTEN = TABLE.read_text().removeprefix(HEAD).splitlines(keepends=True)
EXPECTED = {} if UPDATES else dict(zip((case.name for case in CASES), WRITTEN, strict=True))
# Cases with the words of YAML, JSON, NumPy, Arrow or Typer. Of their messages, the beginning is compared.
OTHERS = {
    "configuration": ("not closed", "indented with a tab", "a zero byte", "two documents"),
    "geometry": ("not closed",),
    "dipole": ("trailing comma", "deep"),
    "field map": ("truncated", "flipped bit", "gzip", "objects", "text for numbers"),
    "step dataset": ("begins elsewhere", "flipped bit in a page"),
    "candidates": ("begins elsewhere", "flipped bit in a page"),
    "parameter set": ("no JSON",),
    "trigger's files": ("no JSON",),
    "run": ("figures that are no JSON",),
}
_THEIRS = re.compile(r"(not an? [^:]*: |Invalid value for '[^']*': |No such command '\w*'|No such option).*")


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.is_dir()}


def row(case: Case, message: str) -> str:
    shown = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
    escaped = shown.replace("|", "\\|").replace("`", "'")
    return f"| {case.door} | {case.wrong} | {case.code} | `{escaped}` |\n"


def compared(case: Case, shown: str) -> str:
    """The part of a row that is the same with all versions, parameter sets and lengths of configurations."""
    if case.door == "command line" or case.wrong in OTHERS.get(case.door, ()):
        shown = _THEIRS.sub(r"\1", shown)
    shown = re.sub(r"`\S*/(?=parkf/params:)", "`", shown)
    return re.sub(r"[0-9a-f]{64}|\d{4,}|(?<=:)\d+|(?<= line )\d+", "#", shown)


@pytest.fixture(scope="module")
def rows():
    """Rows of the table by case; on request, the table gets those of this run."""
    said: dict[str, str] = {}
    yield said
    if UPDATES and len(said) == len(CASES):
        TABLE.write_text(HEAD + "".join(said[case.name] for case in CASES))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_refused(case: Case, tmp_path: Path, monkeypatch, rows) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = case.make(tmp_path)
    before = files(tmp_path)
    code, said = ran(arguments)
    message = said.replace(f"{tmp_path}/", "").replace(f"{ROOT}/", "").rstrip("\n")
    assert code == case.code, said
    *_, last = message.splitlines()
    assert last.startswith("error: "), said
    assert sum(line.startswith("error: ") for line in message.splitlines()) == 1
    assert "Traceback" not in said
    assert files(tmp_path) == before
    rows[case.name] = row(case, last.removeprefix("error: "))
    expected = EXPECTED.get(case.name, rows[case.name])
    assert compared(case, rows[case.name]) == compared(case, expected), "is the table to be updated?"


def test_there_are_enough_and_each_is_another() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 150
