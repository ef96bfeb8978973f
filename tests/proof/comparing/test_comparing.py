"""Comparisons of runs and sets: causes as text, and changes of figures in units of errors."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, sha256, write_json
from parkf.params.configuration import flat
from parkf.params.parameter_set import ParameterSet, load
from parkf.params.registry import Registry
from parkf.proof.comparing import compare_subjects, load_subject
from parkf.proof.comparing.documents import keep_documents, publish_documents
from parkf.proof.comparing.inputs import displacements
from parkf.proof.gates import load_thresholds

from ...sets import random_set

PUBLISHED = Registry(Path(__file__).parents[3] / "params")
ALIGNMENT = {"tag": "nominal", "velo_halves": {}, "velo_modules": {}, "ut_layers": {}, "scifi_layers": {}}
GATES = """
gates:
  - gate: ghosts
    figure: "validation.json: fits/parkf/working_point/ghost"
    at_most: 0.3
    unit: "%"
    reason: Few.
"""
BINS = ((3.0, 5.0), (5.0, 10.0), (10.0, 20.0))


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gates.yaml").write_text(GATES)
    (tmp_path / "geometry.yaml").write_text(
        yaml.safe_dump({"tag": "toy", "ut": {"layers": [{"z": 1.0}, {"z": 2.0}]}})
    )
    (tmp_path / "alignment.yaml").write_text(yaml.safe_dump(ALIGNMENT))
    return tmp_path


@pytest.fixture
def run(project):
    """Write the files of a finished run that comparisons read."""
    made = random_set()

    def make(
        name,
        *,
        geometry="geometry.yaml",
        alignment="alignment.yaml",
        core=0.004,
        mean=0.0,
        consequence="1",
        **config,
    ):
        keys = {
            "seed": 1,
            "detector": {"geometry": geometry, "alignment": alignment},
            "events": config or {"n": 1},
        }
        inputs = {
            **{kind: sha256(project / path) for kind, path in keys["detector"].items()},
            "dataset T": consequence * 64,
            "code": "abc",
        }
        update = {"configuration": flat(keys), "inputs": inputs}
        folder = project / "results" / name
        ParameterSet(made.constant, made.table, made.manifest.model_copy(update=update)).save(folder / "set")
        pull = {"mean": mean, "width": 1.0, "width95": 1.1}
        pull |= {f"{key}_error": 0.01 for key in pull}
        bins = [
            {"p_min": low, "p_max": high, "core": core, "core_error": 1e-4, "bias": 1e-5, "bias_error": 1e-5}
            | {"pulls": {"qop": pull}}
            for low, high in BINS
        ]
        point = {"ghost": 0.2, "genuine": 0.91}
        pulls = dict.fromkeys(("x", "y", "tx", "ty", "qop"), pull)
        roc = [{"genuine": share, "ghost": share**2, "cut": share} for share in (0.0, 0.5, 1.0)]
        fit = {"momentum": bins, "pulls": pulls, "working_point": point, "roc": roc}
        blobs = load(folder / "set").manifest.blobs.fingerprints()
        write_json(folder / "validation.json", {"fits": {"parkf": fit}, "set": blobs})
        steps = {"T.gap3": {"x": [{"p_min": 3.0, "ratio_rms": 0.4}]}}
        write_json(folder / "accuracy.json", {"steps": steps, "table": {"fiducial": []}, "set": blobs})
        return folder

    return make


@pytest.fixture
def compared(project):
    def compare(*names):
        thresholds, registry = load_thresholds(project / "gates.yaml"), Registry(project / "params")
        return compare_subjects([load_subject(str(name), thresholds, registry) for name in names])

    return compare


def test_a_run_is_the_same_as_itself(run, compared):
    folder = run("one")
    found = compared(folder, folder)
    assert found.lines(1) == ["the same"]
    assert found.content()["same"] is True
    assert all(row.same for row in found.rows)


@pytest.mark.parametrize(
    ("element", "said"),
    [
        ({"scifi_layers": {3: {"x": 0.2}}}, "alignment: SciFi layer 3 +0.2 mm in x"),
        ({"velo_halves": {"left": {"rz": -1e-4}}}, "alignment: VELO left half −0.1 mrad about z"),
        ({"velo_modules": {12: {"z": 0.05}}}, "alignment: VELO module 12 +0.05 mm in z"),
        ({"ut_layers": {0: {"y": -0.3}}}, "alignment: UT layer 0 −0.3 mm in y"),
    ],
)
def test_one_constant_of_the_alignment_is_named_and_nothing_else(project, run, compared, element, said):
    first = run("one")
    # The name, the tag and the datasets also differ; they are labels or consequences, and not named.
    (project / "moved.yaml").write_text(yaml.safe_dump(ALIGNMENT | {"tag": "moved"} | element))
    second = run("two", alignment="moved.yaml", consequence="2", core=0.005)
    found = compared(first, second)
    assert [str(one) for one in found.inputs[0]] == [said]


def test_figures_of_a_fit_are_in_per_cent(run, compared):
    """Of ghosts, only the figures of scores have an error."""
    folder = run("one")
    content = read_json(folder / "validation.json")
    point = {"working_point": {"ghost": 0.1, "ghost_error": 0.004}}
    content["fits"]["parkf"]["scores"] = {"score": point}
    write_json(folder / "validation.json", content)
    found = compared(folder, folder)
    rows = {(row.group, row.what): row.measured[0] for row in found.rows}
    ghosts = rows["ghosts", "ghosts kept at 91 % by score, without p and η [%]"]
    assert (ghosts.value, ghosts.error) == pytest.approx((10.0, 0.4))
    core = rows["resolution", "core of δp/p, 5–10 GeV [%]"]
    assert (core.value, core.error) == (pytest.approx(0.4), pytest.approx(0.01))
    bias = rows["bias", "bias of δp/p, 5–10 GeV [%]"]
    assert (bias.value, bias.error) == (pytest.approx(1e-3), pytest.approx(1e-3))


def test_what_else_can_differ(project, run, compared):
    first = run("one", n=1000)
    (project / "other.yaml").write_text(
        yaml.safe_dump({"tag": "toy", "ut": {"layers": [{"z": 1.0}, {"z": 2.5}]}})
    )
    second = run("two", geometry="other.yaml", n=2000, m=3)
    assert [str(one) for one in compared(first, second).inputs[0]] == [
        "geometry: ut.layers.1.z 2.0 → 2.5",
        "configuration: events.n 1000 → 2000",
        "configuration: one does not have events.m 3",
    ]
    third = run("three", n=1000, consequence="3")
    differing = str(compared(first, third).inputs[0][0])
    assert "dataset T differ, though nothing that they are made from does" in differing


def test_inputs_are_found_after_the_file_has_changed(project, run, compared):
    first = run("one")
    manifest = load(first / "set").manifest
    keep_documents(first, manifest, {"alignment": project / "alignment.yaml"})
    (project / "alignment.yaml").write_text(yaml.safe_dump(ALIGNMENT | {"scifi_layers": {1: {"x": 0.1}}}))
    second = run("two")
    assert [d.text for d in compared(first, second).inputs[0]] == ["SciFi layer 1 +0.1 mm in x"]
    with pytest.raises(ParkfError, match="has changed since the set was made"):
        keep_documents(first, manifest, {"alignment": project / "alignment.yaml"})
    # The registry keeps these figures, too.
    publish_documents(first, manifest, project / "params")
    published = project / f"params/inputs/{manifest.inputs['alignment']}.yaml"
    before = published.read_bytes()
    # A set of the same alignment with another comment leaves the published file as it is.
    mine = first / "inputs/alignment.yaml"
    mine.write_text("# Another comment.\n" + mine.read_text())
    publish_documents(first, manifest, project / "params")
    assert published.read_bytes() == before
    shutil.rmtree(first / "inputs")
    assert [d.text for d in compared(first, second).inputs[0]] == ["SciFi layer 1 +0.1 mm in x"]
    shutil.rmtree(project / "params")
    assert "another file" in compared(first, second).inputs[0][0].text
    assert "not at hand" in compared(first, second).inputs[0][0].text


def test_displacements_are_sorted_as_people_count():
    two = {"velo_modules": {"10": {"x": 0.1}, "9": {"x": 0.2}}}
    assert displacements({}, two) == ["VELO module 9 +0.2 mm in x", "VELO module 10 +0.1 mm in x"]
    assert displacements(two, two) == []


def test_figures_stand_in_errors(run, compared):
    rows = {row.what: row for row in compared(run("one"), run("two", core=0.0044)).rows}
    core = rows["core of δp/p, 5–10 GeV [%]"]
    assert core.in_errors[1] == pytest.approx(4e-4 / (1e-4 * 2**0.5))
    assert rows["ghosts kept at 91 % by χ²/ndof [%]"].measured[0].value == pytest.approx(20.0)


def test_a_set_borrows_figures_from_a_run_that_measured_it(run, compared):
    first, second = run("one"), run("two", core=0.005)
    fit = read_json(second / "validation.json")["fits"]["parkf"]
    blobs = load(second / "set").manifest.blobs.fingerprints()
    assert "resolution" not in {row.group for row in compared(first, second / "set").rows}
    write_json(first / "beside.json", {"version": None, "set": blobs, "fit": fit})
    found = compared(first, second / "set")
    assert found.subjects[1].borrowed == "one"
    core = next(row for row in found.rows if row.group == "resolution")
    # The errors of figures of the same tracks say nothing of their difference.
    assert (core.measured[1].value, core.in_errors[1]) == (pytest.approx(0.5), None)


def test_differences_on_the_same_tracks_have_paired_errors_and_an_answer(project, run, compared):
    first, second = run("one"), run("two", core=0.005)
    numbers = {"n": 100, "own": 0.004, "published": 0.005, "error": 5e-5, "worse": 0.2, "worse_error": 0.01}
    paired = {
        "figures": [{"figure": "core", "p_min": 5, "p_max": 10, **numbers}, {"figure": "ghosts", **numbers}]
    }
    beside = {"version": "r001", "set": load(second / "set").manifest.blobs.fingerprints(), "paired": paired}
    beside |= {"fit": read_json(second / "validation.json")["fits"]["parkf"]}
    beside |= {"answer": {"verdict": "replace", "sentence": "Replace r001: its core."}}
    write_json(first / "beside.json", beside)
    for names, sign in (((first, second / "set"), 1), ((second / "set", first), -1)):
        found = compared(*names)
        rows = {row.what: row for row in found.rows}
        assert rows["core of δp/p, 5–10 GeV [%]"].in_errors[1] == pytest.approx(20 * sign)
        assert rows["core of δp/p, 3–5 GeV [%]"].in_errors[1] is None
        assert rows["ghosts kept at 91 % by χ²/ndof [%]"].in_errors[1] == pytest.approx(20 * sign)
        assert found.content()["answer"] == "Replace r001: its core."
        assert str(found).startswith("Replace r001: its core.")
    # Of other sets, the run has no answer.
    assert compared(first, run("three", core=0.003)).answer is None


def test_the_command_says_it_on_a_console_and_in_json(project, run):
    (project / "moved.yaml").write_text(yaml.safe_dump(ALIGNMENT | {"scifi_layers": {3: {"x": 0.2}}}))
    one, two = run("one"), run("two", alignment="moved.yaml", core=0.005)
    common = ["compare", str(one), str(two), "--gates", "gates.yaml"]
    printed = CliRunner().invoke(app, common)
    assert printed.exit_code == 0, printed.output
    assert "alignment: SciFi layer 3 +0.2 mm in x" in printed.output
    assert "0.400 ± 0.010  0.500 ± 0.010  +7.1" in printed.output
    content = json.loads(CliRunner().invoke(app, [*common, "--json"]).stdout)
    assert content["differences"][0]["inputs"] == [
        {"what": "alignment", "text": "SciFi layer 3 +0.2 mm in x"}
    ]
    alike = CliRunner().invoke(app, ["compare", str(one), str(one), "--gates", "gates.yaml"])
    assert alike.stdout.endswith("the same\n")
    refused = CliRunner().invoke(app, ["compare", str(one), "--gates", "gates.yaml"])
    assert isinstance(refused.exception, ParkfError)
    assert "expected two runs or sets" in str(refused.exception)


def test_a_published_version_is_a_subject_by_its_name(project):
    subject = load_subject("2026-run3-like-2-r011", load_thresholds(project / "gates.yaml"), PUBLISHED)
    assert (subject.name, subject.run) == ("2026-run3-like-2-r011", None)
    (project / "empty").mkdir()
    with pytest.raises(ParkfError, match="empty: neither a run"):
        load_subject("empty", load_thresholds(project / "gates.yaml"), PUBLISHED)
