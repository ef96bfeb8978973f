"""The end of a run: few short lines."""

from contextlib import suppress
from pathlib import Path

from typer import Exit

from parkf.cli.commands.results import gate, print_end
from parkf.io.terminal import WIDTH, shortened

from .conftest import ROOT

GATES = ROOT / "workflow/config/gates.yaml"


def test_few_short_lines_have_what_was_missed(finished, monkeypatch, capsys):
    monkeypatch.chdir(finished.folder)
    run = Path("results/smoke")
    with suppress(Exit):
        gate(run, GATES)
    everything = capsys.readouterr().out.splitlines()
    missed = [line for line in everything if line.startswith(("MISSED", "NOT MEASURED"))]
    print_end(run, GATES)
    brief = capsys.readouterr().out.splitlines()
    # Thirty lines are left for the progress.
    assert len(brief) <= 30
    assert max(map(len, brief)) <= WIDTH
    assert "parkf gate results/smoke" in "".join(brief)
    met = len([line for line in everything if line.startswith("met")])
    assert f"{met + len(missed)} gates: {met} met, " in "".join(brief)
    # A run for tests has too few tracks, or has missed gates.
    assert brief[0].startswith(("Cannot tell whether to replace ", "Keep "))
    assert len([one for one in brief if one.startswith(("MISSED", "NOT MEASURED"))]) == min(len(missed), 20)
    assert "report/index.html" in brief[-1]


def test_long_texts_are_cut_at_the_width():
    assert shortened("short\nsecond") == "short"
    assert len(shortened("long " * 100)) == WIDTH
