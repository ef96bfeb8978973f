"""The benchmark of the stages, run on a handful of events, produces every figure."""

import json
import math
import sys
from pathlib import Path

import pytest

from parkf.model.steps import FORMS

ROOT = Path(__file__).parents[1]
# This test measures the starts of these commands; tests/test_starts.py starts the others.
STARTED = ("generate", "fit", "params list")


@pytest.mark.slow
def test_every_stage_and_every_start_has_its_figure(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import stage_lines, stages

    # The rows of each step are gathered by a command of their own; here, those of one step stand for them.
    assert set(stage_lines.STEPS) == set(FORMS["improved"].steps)
    monkeypatch.setattr(stage_lines, "STEPS", (stage_lines.TRAINED,))
    lines = stages.command_lines
    monkeypatch.setattr(stages, "command_lines", lambda *of: {name: lines(*of)[name] for name in STARTED})
    monkeypatch.setattr(stages, "_TRAINED_ROWS", (10_000, 40_000))
    monkeypatch.setattr(stages.signal, "signal", lambda *_: None)  # only needed in its own process
    path = tmp_path / "stages.json"
    monkeypatch.setattr(sys, "argv", ["stages", "--json", str(path), "--events", "16", "--repeats", "1"])
    stages.main()
    written = json.loads(path.read_text())
    assert written["processor"]
    units = {name: figure["unit"] for name, figure in written["stages"].items()}
    assert units == {
        **dict.fromkeys(("generate", "states", "hits_and_fates", "datasets", "candidates"), "event"),
        **{"full_fit": "track", "fit": "track", "train": "1000 rows", "start": "command"},
    }
    figures = [figure["cpu_ms"] for kind in ("stages", "starts") for figure in written[kind].values()]
    assert all(math.isfinite(figure) for figure in figures)
    # A run on so few events hardly measures the time for an event, but it measures the start.
    starts = {name: figure["cpu_ms"] for name, figure in written["starts"].items()}
    assert set(starts) == set(STARTED)
    assert 0 < min(starts.values()) <= written["stages"]["start"]["cpu_ms"] <= max(starts.values())
