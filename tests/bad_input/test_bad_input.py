"""Each bad input is refused with one line of message and the documented exit code, and leaves no output."""

from pathlib import Path

import pytest

from . import commands, configuration, detector, sets, tables
from .case import ROOT, Case, ran

CASES = [case for part in (configuration, detector, tables, sets, commands) for case in part.CASES]


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_is_refused(case: Case, tmp_path: Path, monkeypatch) -> None:
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


def test_there_are_enough_and_each_is_another() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 150
