"""The benchmark of the stages on a handful of events: every figure is there."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_every_stage_and_every_start_has_its_figure(tmp_path):
    path = tmp_path / "stages.json"
    subprocess.run(
        [sys.executable, "-m", "benchmarks.stages", "--json", path, "--events", "16", "--repeats", "1"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    written = json.loads(path.read_text())
    assert written["processor"]
    units = {name: figure["unit"] for name, figure in written["stages"].items()}
    assert units == {
        **dict.fromkeys(("generate", "states", "hits_and_fates", "datasets", "candidates"), "event"),
        **{"full_fit": "track", "fit": "track", "train": "1000 rows", "start": "command"},
    }
    figures = [figure["cpu_ms"] for kind in ("stages", "starts") for figure in written[kind].values()]
    assert all(math.isfinite(figure) for figure in figures)
    # A run on so few events says little about what an event costs; a start says what it says.
    starts = [figure["cpu_ms"] for figure in written["starts"].values()]
    assert {"generate", "fit", "params list"} <= written["starts"].keys()
    assert min(starts) > 0
    assert min(starts) <= written["stages"]["start"]["cpu_ms"] <= max(starts)
