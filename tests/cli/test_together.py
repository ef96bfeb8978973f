"""Several commands run in one process."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CANDIDATES = ROOT / "examples/candidates.parquet"
PARKF = Path(sys.executable).with_name("parkf")
SET = ROOT / "params/2026-run3-like-2-r008"


def together(*words):
    done = subprocess.run(
        [PARKF, "together", *map(str, words)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    return done.returncode, done.stderr


def test_each_command_makes_what_it_makes_alone(tmp_path):
    options = {"plain": [], "exact": ["--precision", "float64"], "robust": ["--robust", "--score"]}
    words = []
    for name, own in options.items():
        words += ["--", "fit", SET, CANDIDATES, tmp_path / f"{name}.parquet", *own]
    code, said = together(*words)
    assert code == 0, said
    for name, own in options.items():
        alone = tmp_path / "alone.parquet"
        assert together("--", "fit", SET, CANDIDATES, alone, *own)[0] == 0
        assert alone.read_bytes() == (tmp_path / f"{name}.parquet").read_bytes()


def test_the_first_that_fails_ends_it_and_what_came_before_stays(tmp_path):
    files = [tmp_path / f"{name}.parquet" for name in ("first", "second", "third")]
    sources = [CANDIDATES, tmp_path / "missing.parquet", CANDIDATES]
    words = []
    for source, file in zip(sources, files, strict=True):
        words += ["--", "fit", SET, source, file]
    code, said = together(*words)
    assert code == 1
    assert f"{tmp_path}/missing.parquet: no such file" in said
    assert [file.exists() for file in files] == [True, False, False]
