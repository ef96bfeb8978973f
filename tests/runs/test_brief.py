"""The end of a run: all gates on a terminal, few short lines elsewhere."""

from pathlib import Path

from parkf.cli.commands.results import print_brief, where
from parkf.io.terminal import WIDTH, shortened

from .conftest import ROOT

GATES = ROOT / "workflow/config/gates.yaml"


def test_off_a_terminal_few_short_lines_have_what_was_missed(finished, monkeypatch, capsys):
    monkeypatch.chdir(finished.folder)
    run = Path("results/smoke")
    where(run, GATES)
    everything = capsys.readouterr().out.splitlines()
    missed = [line for line in everything if line.startswith("  MISSED")]
    print_brief(run, GATES)
    brief = capsys.readouterr().out.splitlines()
    # Thirty lines are left for the progress.
    assert len(brief) <= 30
    assert max(map(len, brief)) <= WIDTH
    assert "parkf where results/smoke" in "".join(brief)
    met = len([line for line in everything if line.startswith("  met")])
    assert f"{met} of {met + len(missed)} gates met" in brief[0]
    assert [line.strip()[:60] for line in missed][:20] == [
        line.strip()[:60] for line in brief if "MISSED" in line
    ]
    assert everything[-4:] == brief[-4:]


def test_long_texts_are_cut_at_the_width():
    assert shortened("short\nsecond") == "short"
    assert len(shortened("long " * 100)) == WIDTH
