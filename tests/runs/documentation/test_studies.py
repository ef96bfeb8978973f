"""Figures on pages are tied to the code that measured them."""

import json
import re
from importlib import import_module

import pytest
from tools import studies

from .test_pages import GENERATE, ROOT


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Records of all studies, as if each was measured with this code."""
    known = {
        study: {"code": studies.key_of(study), "date": "2026-11-30", "commit": "0123abcd"}
        for study in studies.STUDIES
    }
    monkeypatch.setattr(studies, "RECORDS", tmp_path / "records.json")
    studies.RECORDS.write_text(json.dumps(known))
    return known


def test_what_was_measured_with_this_code_is_current(recorded, capsys):
    assert studies.main(["check"]) == 0
    assert capsys.readouterr().out.count("current") == len(studies.STUDIES)
    assert studies.said_of("ghosts") == "Measured on 2026-11-30 with commit 0123abcd."


def test_what_was_measured_with_other_code_is_stale(recorded, capsys):
    studies.RECORDS.write_text(json.dumps(recorded | {"ghosts": recorded["ghosts"] | {"code": "another"}}))
    assert studies.main([]) == 1
    stale = [line.split()[0] for line in capsys.readouterr().out.splitlines() if " stale " in line]
    assert stale == ["ghosts"]
    assert studies.said_of("ghosts").endswith("; the code has changed since.")


def test_a_change_makes_stale_what_computes_with_it(monkeypatch):
    key_module = import_module("parkf.io.fingerprints.code_key")
    read = key_module._read

    def keys(changed=""):
        def with_change(path):
            digest, used = read(path)
            return (f"{digest} changed" if path.match(changed) else digest), used

        monkeypatch.setattr(key_module, "_read", with_change)
        key_module.code_key.cache_clear()
        studies.key_of.cache_clear()
        return {study: studies.key_of(study) for study in ("ghosts", "monitor", "replace")}

    monkeypatch.setattr(key_module, "_kept", lambda: ("", {}))
    monkeypatch.setattr(key_module, "write_sealed", lambda *_: None)
    try:
        before = keys("nothing")
        for changed, stale in (
            ("src/parkf/data/monitor.py", {"monitor"}),
            ("src/kernel/transport/material.hpp", {"ghosts", "monitor", "replace"}),
        ):
            after = keys(changed)
            assert {study for study in after if after[study] != before[study]} == stale
    finally:
        key_module.code_key.cache_clear()
        studies.key_of.cache_clear()


def test_a_study_that_fails_leaves_its_figures_and_records(recorded, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(studies, "RESULTS", tmp_path)
    monkeypatch.setitem(studies.STUDIES, "rich_states", ("nowhere",))
    (tmp_path / "rich_states.json").write_text("{}")
    assert studies.main(["run", "rich_states"]) == 1
    assert "rich_states: failed" in capsys.readouterr().err
    assert (tmp_path / "rich_states.json").read_text() == "{}"
    assert json.loads(studies.RECORDS.read_text()) == recorded
    assert {one.name for one in tmp_path.iterdir()} == {"rich_states.json", "records.json"}


def test_every_table_on_a_page_says_its_age():
    for page in (ROOT / "docs").glob("*/*.md"):
        text = page.read_text("utf-8")
        of_studies = [
            file for file in re.findall(r"<!-- figures: \S+ (\w+)", text) if file in studies.STUDIES
        ]
        assert GENERATE.with_figures(text).count("*Measured ") == len(of_studies), page
