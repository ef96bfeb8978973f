"""Files that are not a run's own products are named, and the next run has the right bytes."""

import json
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.ledger import Ledger
from parkf.io.store import STORE
from parkf.workflow.damage import ASIDE

from .conftest import PARKF, Project

RUN = Path("results/smoke")
MISTAKEN = {
    "exchanged": "states/training_up.parquet",
    "of another sample": "particles/validation_up.parquet",
    "of nobody": "hits/validation_up.parquet",
    "missing": "fits/UT.json",
    "a link to nowhere": "accuracy.json",
    "damaged": "table/table.npz",
    "cut": "particles/training_up.parquet",
}


@pytest.fixture
def copy(finished, tmp_path, monkeypatch):
    project = Project(shutil.copytree(finished.folder, tmp_path / "copy", symlinks=True))
    monkeypatch.chdir(project.folder)
    return project


def make_mistakes(project):
    """Put files that are not its own into the run."""
    # The set is made for other data, by hand: what was made of it before is of another set.
    other = Path("workflow/config/other.yaml")
    other.write_text(json.dumps({"extends": "smoke", "run": "smoke", "validity": {"first_run": 5}}))
    done = project.snakemake("--cores", "1", "--configfile", other, "--", RUN / "set/manifest.json")
    assert done.returncode == 0, done.stderr
    up, down = (RUN / f"states/training_{polarity}.parquet" for polarity in ("up", "down"))
    kept = up.read_bytes()
    shutil.copyfile(down, up)
    down.write_bytes(kept)
    shutil.copyfile(RUN / "particles/validation_down.parquet", RUN / "particles/validation_up.parquet")
    hits = pq.read_table(RUN / "hits/validation_up.parquet")
    pq.write_table(hits.slice(0, 10), RUN / "hits/validation_up.parquet", write_page_checksum=True)
    (RUN / "fits/UT.json").unlink()
    accuracy = RUN / "accuracy.json"
    # This one is not in the store any more.
    (STORE / Ledger(RUN).latest()[str(accuracy)].outputs[str(accuracy)]).unlink()
    accuracy.unlink()
    accuracy.symlink_to("nowhere.json")
    table = bytearray((RUN / "table/table.npz").read_bytes())
    table[len(table) // 2] ^= 1
    (RUN / "table/table.npz").write_bytes(table)
    particles = RUN / "particles/training_up.parquet"
    particles.write_bytes(particles.read_bytes()[:-100])


def test_mistakes_are_named_and_mended(copy):
    before = copy.products("smoke")
    make_mistakes(copy)
    verified = CliRunner().invoke(app, ["verify", str(RUN)])
    assert verified.exit_code == 1
    words = [PARKF, "run", "smoke", "--cores", "2"]
    done = subprocess.run(words, cwd=copy.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    said = verified.output + str(verified.exception)
    for what, name in MISTAKEN.items():
        assert f"{RUN / name}: " in said, (what, said)
        assert f"{RUN / name}: " in done.stderr, (what, done.stderr)
    # What was made of another set has one line for all files.
    assert f"more: made from another {RUN}/set/" in said
    assert f"more: made from another {RUN}/set/" in done.stderr
    # What nobody here has made may be somebody's work.
    aside = RUN / ASIDE / "hits/validation_up.parquet"
    assert f"moved to {aside}" in done.stderr
    assert pq.read_metadata(aside).num_rows == 10
    assert copy.products("smoke") == before
    assert CliRunner().invoke(app, ["verify", str(RUN)]).exit_code == 0
