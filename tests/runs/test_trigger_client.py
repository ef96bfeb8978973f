"""`parkf params validate --client trigger` on the candidates of a run."""

import json

from typer.testing import CliRunner

from parkf.cli.main import app

from .conftest import ROOT

# The finished run has a registry of its own.
PUBLISHED, BEFORE = (str(ROOT / f"params/2026-run3-like-2-{revision}") for revision in ("r007", "r003"))


def ask(*arguments):
    return CliRunner().invoke(app, ["params", "validate", *arguments])


def test_a_published_set_is_measured_as_the_trigger_uses_it(finished, monkeypatch):
    monkeypatch.chdir(finished.folder)
    client = ("--client", "trigger", "--run", "results/smoke", "--before", BEFORE)
    done = ask(PUBLISHED, *client, "--json")
    assert done.exit_code in (0, 1), done.exception
    content = json.loads(done.stdout)
    assert content["client"] == "trigger"
    # There are few tracks, so the bounds around the scheme's known figures are wide.
    assert content["tracks"] > 300
    assert 1.4 < content["pull"] < 2.5
    assert 0.003 < content["core"] < 0.0055
    assert len(content["gates"]) == 5
    text = ask(PUBLISHED, *client)
    assert "exported and read back" in text.stdout
    assert text.stdout.rstrip().endswith("for the trigger")


def test_a_set_of_other_forms_is_refused(finished):
    done = ask(str(finished.folder / "results/smoke/set"), "--client", "trigger")
    assert done.exit_code == 1
    assert "forms 'improved', expected 'production'" in " ".join(done.output.split())
