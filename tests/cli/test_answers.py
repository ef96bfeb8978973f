"""What commands print and write, in this process."""

import errno
import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from parkf.cli.commands.results import print_end
from parkf.cli.main import _drop_output, app
from parkf.cli.messages import written
from parkf.detector.dipole import DipoleSources
from parkf.detector.field import FieldMap
from parkf.io.errors import ParkfError
from parkf.io.explained import explained
from parkf.io.files import write_json
from parkf.params.manifest import Gate

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/imports"))
import field_writers  # noqa: E402


def parkf(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(done.exception, ParkfError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_members_of_a_family_are_listed_with_their_own_settings():
    text = parkf("check", "--family", ROOT / "workflow/config/families/alignments.yaml")
    own = dict(line.split(None, 1) for line in text.splitlines() if line.startswith("alignments."))
    assert text.startswith("run")
    assert own.pop("alignments.velo_shift").startswith("detector.alignment: data/geometry/")
    assert "alignments.scifi_shift" in own


@pytest.mark.parametrize(("polarity", "sign"), [("down", 1.0), ("up", -1.0)])
def test_a_field_comes_in_the_units_and_the_polarity_that_are_named(tmp_path, monkeypatch, polarity, sign):
    """Maps are stored for MagDown, so a map of MagUp is turned; any folder can be the working folder."""
    monkeypatch.chdir(tmp_path)
    corner, spacing, counts = np.array([-3000.0, -2500.0, -500.0]), np.full(3, 500.0), (13, 11, 21)
    nodes = [corner[a] + spacing[a] * np.arange(counts[a]) for a in range(3)]
    places = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1)
    values = DipoleSources.load(ROOT / "data/field/dipole.json").field(places.reshape(-1, 3))
    values = values.reshape(places.shape)
    source = field_writers.write_plain(tmp_path, corner, spacing, sign * values)
    options = ("--length", "cm", "--unit", "kG", "--polarity", polarity)
    parkf("import", "field", source, tmp_path / "field.npz", *options)
    taken = FieldMap.load(tmp_path / "field.npz")
    np.testing.assert_allclose(taken.values, values, atol=1e-6)
    np.testing.assert_allclose(taken.origin, corner)

    with pytest.raises(ParkfError, match=r"^own\.json: no such file"):
        parkf("import", "field", source, tmp_path / "field.npz", *options, "--dipole", "own.json")


def test_a_command_says_in_one_line_what_it_wrote(tmp_path):
    field = tmp_path / "field.npz"
    text = parkf("field", ROOT / "data/field/dipole.json", field, "--spacing", "500")
    assert text == f"{field}: {field.stat().st_size / 1e3:.1f} kB written\n"


def test_what_is_written_is_told_with_rows_and_files(tmp_path, capsys):
    shutil.copy(ROOT / "examples/candidates.parquet", tmp_path)
    written(tmp_path / "candidates.parquet", None, tmp_path)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"{tmp_path}/candidates.parquet: 400 rows, ")
    assert second.startswith(f"{tmp_path}: 1 files, ")


@pytest.mark.parametrize(
    ("option", "wrong", "bound"),
    [("--year", 10_000, "less than or equal to 9999"), ("--first-run", -1, "greater than or equal to 0")],
)
def test_numbers_out_of_range_are_refused_with_the_bound(option, wrong, bound):
    words = ["params", "publish", "set", option, str(wrong)]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 2
    assert f"Input should be {bound}" in done.output


@pytest.mark.parametrize(
    ("size", "text"), [(999, "1.0 kB"), (999_940, "999.9 kB"), (2_000_000, "2.0 MB"), (12_345_678, "12.3 MB")]
)
def test_sizes_are_told_in_units_of_their_own(tmp_path, capsys, size, text):
    (tmp_path / "a.bin").write_bytes(bytes(size))
    written(tmp_path / "a.bin")
    assert capsys.readouterr().err == f"{tmp_path}/a.bin: {text} written\n"


def test_published_sets_are_listed_under_their_columns(tmp_path):
    first, *rows = parkf("params", "list", "--registry", ROOT / "params").splitlines()
    assert first.split()[:2] == ["version", "state"]
    assert any(row.startswith("2026-run3-like-2-r011 ") for row in rows)
    assert parkf("params", "list", "--registry", tmp_path) == f"{tmp_path}: no published sets\n"


def test_output_that_cannot_be_written_is_not_tried_again(tmp_path, monkeypatch):
    def full():
        raise OSError(errno.ENOSPC, "no space")

    with (tmp_path / "out").open("wb") as file:
        broken = SimpleNamespace(flush=full, fileno=file.fileno)
        monkeypatch.setattr(sys, "stdout", broken)
        _drop_output()
        os.write(file.fileno(), b"again")
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_no_memory_is_told_with_what_to_do(error):
    assert "give the command more of it, or fewer threads" in explained(error)


def test_displacements_are_listed_by_element(tmp_path):
    """The example's tracks are of a detector in place, so that its layers are within a millimetre of it."""
    data = ROOT / "data/geometry"
    # An alignment asks for more tracks than the example has.
    example = pq.read_table(ROOT / "examples/candidates.parquet")
    pq.write_table(pa.concat_tables([example, example]), tmp_path / "twice.parquet")
    words = ("align", ROOT / "params/2026-run3-like-2-r011", tmp_path / "twice.parquet")
    words += (tmp_path / "a.yaml", "--geometry", data / "run3.yaml")
    text = parkf(*words, "--alignment", data / "alignment_nominal.yaml", "--freedoms", "x")
    rows = dict(re.findall(r"^((?:ut|scifi)_layers \d+) +([+-]\S+) ± \S+", text, re.MULTILINE))
    assert len(rows) >= 10
    assert all(abs(float(value)) < 1.0 for value in rows.values())


def test_the_end_of_a_run_names_twenty_missed_gates(tmp_path, monkeypatch, capsys):
    gates = [Gate(what=f"gate {n}", measured="2", bar="1", met=n % 2 == 0) for n in range(60)]
    monkeypatch.setattr("parkf.proof.gates.hold", lambda *_: gates)
    monkeypatch.setattr("parkf.proof.gates.load_thresholds", lambda _: None)
    write_json(tmp_path / "validation.json", {"counts": {"genuine": 123, "ghost": 45}})
    print_end(tmp_path, tmp_path / "gates.yaml")
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "123 genuine tracks, 45 ghosts; 60 gates: 30 met, 0 missed, 30 not measured"
    named = [line for line in lines if line.startswith("NOT MEASURED")]
    assert [line.split(":")[0].split()[-1] for line in named] == [str(n) for n in range(1, 41, 2)]
