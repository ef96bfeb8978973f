"""Each bad input is refused with one line of message and the documented exit code, and leaves no output.

docs/reference/bad_inputs.md has the table of all cases. `PARKF_UPDATE_DOCS=1 pytest tests/bad_input`
writes it.
"""

import os
from pathlib import Path

import pytest

from . import commands, configuration, detector, sets, tables
from .case import ROOT, Case, ran

CASES = [case for part in (configuration, detector, tables, sets, commands) for case in part.CASES]
TABLE = ROOT / "docs/reference/bad_inputs.md"
HEAD = """# What is refused, and with which message

`tests/bad_input` tries each of these inputs. The command prints this one line behind `error: `, ends with
this exit code, and leaves no file behind. Parts of messages that come from YAML, JSON, NumPy, Arrow or Typer
change with their versions.

| door | what is wrong | exit code | message |
|---|---|---|---|
"""
LONGEST = 300


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.is_dir()}


def row(case: Case, message: str) -> str:
    shown = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
    escaped = shown.replace("|", "\\|").replace("`", "'")
    return f"| {case.door} | {case.wrong} | {case.code} | `{escaped}` |\n"


@pytest.fixture(scope="module")
def messages():
    """Collect the messages by case; write them to the documentation on request."""
    said: dict[str, str] = {}
    yield said
    if os.environ.get("PARKF_UPDATE_DOCS") and len(said) == len(CASES):
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(HEAD + "".join(row(case, said[case.name]) for case in CASES))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_refused(case: Case, tmp_path: Path, monkeypatch, messages) -> None:
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
    for words in case.says:
        assert words in last
    assert files(tmp_path) == before
    messages[case.name] = last.removeprefix("error: ")


def test_there_are_enough_and_each_is_another() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 150


def test_the_documentation_has_them_all() -> None:
    written = TABLE.read_text().removeprefix(HEAD).splitlines()
    assert len(written) == len(CASES)
    for line, case in zip(written, CASES, strict=True):
        assert line.startswith(f"| {case.door} | {case.wrong} | {case.code} | "), line
        for words in case.says:
            assert words.replace("|", "\\|").replace("`", "'") in line or "…" in line
