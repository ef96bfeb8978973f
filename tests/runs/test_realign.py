"""`parkf realign`: the moved steps of a finished run are trained, all else is kept, and the set is proven."""

import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.files import sha256
from parkf.params.parameter_set import load
from parkf.workflow.config import read_config

from .conftest import Project

MOVED = "--alignment data/geometry/alignment_scifi_shift.yaml"
TRAINED = {"TFT forward", *(f"T gap {gap}" for gap in range(4))}


@pytest.fixture(scope="module")
def folder(finished, tmp_path_factory):
    """A project with the finished run."""
    folder = Project.new(tmp_path_factory.mktemp("realign") / "project").folder
    (folder / "results").mkdir()
    (folder / "results/smoke").symlink_to(finished.folder / "results/smoke")
    return folder


@pytest.fixture
def parkf(folder, monkeypatch):
    """Call `parkf` in the project; return the exit code, and what it said."""
    monkeypatch.chdir(folder)

    def call(line):
        done = CliRunner().invoke(app, shlex.split(line))
        error = "" if isinstance(done.exception, SystemExit) else done.exception or ""
        return done.exit_code, f"{done.output}{error}"

    return call


@pytest.fixture
def realigned(parkf, folder):
    """The folder of the run whose first SciFi station has moved, and what the command said."""
    if not (folder / "results/moved/realign.json").exists():
        code, said = parkf(f"realign smoke moved {MOVED}")
        assert code == 0, said
        (folder / "said.txt").write_text(said)
    return folder / "results/moved", (folder / "said.txt").read_text()


def test_only_steps_whose_planes_moved_are_trained(realigned, folder):
    run, said = realigned
    before, after = load(folder / "results/smoke/set"), load(run / "set")
    proof = json.loads((run / "realign.json").read_text())
    assert {one["part"] for one in proof["plan"] if one["trained"]} == TRAINED
    assert {plane for one in proof["plan"] for plane in one["planes"]} == {58, 59, 60, 61}
    for name in ("V", "VUT", "UT", "UTTF", "BEAM", "UTLayer"):
        assert np.array_equal(before.block(name), after.block(name))
    assert np.array_equal(before.block("T")[4:], after.block("T")[4:])
    assert (before.block("T")[:4] != after.block("T")[:4]).any(axis=1).all()
    assert not np.array_equal(before.block("TFT"), after.block("TFT"))
    assert np.allclose(after.block("TLayer")[0] - before.block("TLayer")[0], [0.5] * 4 + [0] * 8, atol=1e-3)
    assert np.array_equal(before.table, after.table)
    assert np.array_equal(before.score.numbers, after.score.numbers)
    for name, one in {"trained anew": "TFT", "kept": "VUT"}.items():
        assert any(line.startswith(one) and name in line for line in said.splitlines())


def test_the_manifest_says_what_was_trained_and_what_kept(realigned, folder):
    run, _ = realigned
    before, after = load(folder / "results/smoke/set"), load(run / "set").manifest
    assert after.inputs["realigned from"] == before.sha256
    assert after.inputs["fits of TFT"] == sha256(run / "fits/TFT.json")
    assert after.inputs["fits of V"] == sha256(folder / "results/smoke/fits/V.json")
    assert after.inputs["alignment"] != before.manifest.inputs["alignment"]
    assert all(one in after.source for one in (*TRAINED, before.sha256, "paired figures"))
    carried = {f"{one.step} {one.set}" for one in after.fits if "carried" in one.note}
    assert carried == TRAINED


def test_its_tracks_and_gates_are_like_those_of_a_run(realigned, parkf):
    code, said = parkf("gate results/moved --json")
    gates = {one["what"]: one for one in json.loads(said)["gates"]}
    assert code == 1
    assert gates["on the same tracks as before"]["met"]
    assert gates["pull width of x"]["measured"][0].isdigit()
    assert gates["δ_par/σ_MS of steps in the VELO"]["measured"].startswith("before the realignment: ")
    code, said = parkf("params publish results/moved/set --registry registry")
    assert code == 1
    assert "not published, gates missed" in said
    assert parkf("verify results/moved")[0] == 0
    assert parkf("compare results/smoke results/moved/set")[0] == 0
    code, said = parkf("params reproduce results/moved/set --work again")
    assert code != 0
    assert "repeat it with `parkf realign`" in said


def test_a_shift_across_moves_no_number(parkf, folder):
    code, said = parkf(
        "realign smoke velo --alignment data/geometry/alignment_velo_shift.yaml --crossings 20"
    )
    assert code == 0, said
    before, after = load(folder / "results/smoke/set"), load(folder / "results/velo/set")
    assert before.manifest.blobs == after.manifest.blobs
    assert "trained anew" not in said
    assert "both sets fit all tracks alike" in said


@pytest.fixture
def trained(monkeypatch):
    """Names of the runs that would be started."""
    names = []
    monkeypatch.setattr("parkf.cli.commands.running.run", lambda name, **_: names.append(name))
    return names


def test_another_field_is_trained_as_a_whole(parkf, folder, trained):
    source = json.loads((folder / "data/field/lhcb.json").read_text())
    for charge in source["charges"]:
        charge[3] *= 1.002
    (folder / "stronger.json").write_text(json.dumps(source))
    code, said = parkf("realign smoke stronger --field stronger.json")
    assert (code, trained) == (0, ["stronger"]), said
    assert "the whole set is trained: the field is another one" in said
    assert any(line.startswith("UT ") and "trained anew" in line for line in said.splitlines())
    config = read_config(folder / "workflow/config/stronger.yaml", folder)
    assert config["field"]["source"] == "stronger.json"
    assert config["events"]["training"] == 80


def test_so_are_other_planes_of_a_geometry_and_large_motions(parkf, folder, trained):
    text = (folder / "data/geometry/run3.yaml").read_text()
    (folder / "other.yaml").write_text(text.replace("thickness: 1.1", "thickness: 1.2", 1))
    assert "the geometry is another one" in parkf("realign smoke thick --geometry other.yaml")[1]
    (folder / "far.yaml").write_text(
        "tag: far\nvelo_halves: {}\nvelo_modules: {}\nut_layers: {}\n"
        "scifi_layers: {3: {z: 2.0}}\nbeyond_1_mm: true\n"
    )
    assert "plane 61 moves by 2 mm" in parkf("realign smoke far --alignment far.yaml")[1]
    assert trained == ["thick", "far"]


def test_what_cannot_be_realigned_is_refused(parkf, folder):
    code, said = parkf("realign smoke moved")
    assert code == 2
    assert "--alignment, --geometry or --field" in said
    code, said = parkf(f"realign smoke smoke {MOVED}")
    assert code == 1
    assert "a run of its own" in said
    assert parkf(f"realign nowhere moved {MOVED}")[0] == 1
