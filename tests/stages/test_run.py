"""The one function that runs a stage: its ledger, copies of the same products, and sources that change."""

import os
from pathlib import Path

import pytest
from tests.ledgers import entry

import parkf.stages.run as stage_run
from parkf.io import store
from parkf.io.errors import ParkfError
from parkf.io.fingerprints import sources
from parkf.io.ledger import FILE, Ledger
from parkf.stages.call import Call
from parkf.workflow.products import check_runs

CODE, STATE = "0123456789abcdef", "state"


@pytest.fixture
def worked(tmp_path, monkeypatch):
    """Names of the runs in which a stage has worked; all code has the same key, and is as it was."""
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/in.yaml").write_text("a: 1\n")
    monkeypatch.setattr(stage_run, "code_of", lambda _: CODE)
    monkeypatch.setattr(stage_run, "sources_state", lambda: STATE)
    return []


@pytest.fixture
def run(worked):
    """Run a stage that copies its input and a number into two products of a run."""

    def make(name, number=1, stage="gather", code=CODE, function=None, source="data/in.yaml"):
        folder = Path("results", name)
        outputs = [folder / "a.json", folder / "b.json"]

        def copy(*, input, outputs, number):
            worked.append(name)
            folder.mkdir(parents=True, exist_ok=True)
            for path in outputs:
                path.write_text(f"{input.read_text()}{number}{path.name}")

        values, read = {"number": number}, [Path(source)]
        arguments = {"input": read[0], "outputs": outputs, **values}
        call = Call(stage, function or copy, arguments, {"input": read}, outputs, values)
        stage_run.run_stage(call, code, STATE)
        latest = Ledger(folder).latest()
        return latest.get(str(outputs[0])), [path.read_bytes() for path in outputs]

    return make


def test_a_ledger_says_what_was_made_of_what(run):
    found, _ = run("one")
    assert (found.stage, found.code, found.values) == ("gather", CODE, {"number": 1})
    assert list(found.outputs) == ["results/one/a.json", "results/one/b.json"]
    assert list(found.inputs) == ["data/in.yaml"]
    assert (found.taken_from, found.threads) == ("", 1)
    assert found.peak_mb > 1
    assert check_runs(Path("results/one")) == []


def test_the_same_products_are_copied_from_another_run(run, worked, capsys):
    _, made = run("one")
    found, copied = run("two")
    assert (worked, copied) == (["one"], made)
    assert found.taken_from == "results/one"
    assert capsys.readouterr().err == "gather: copied from results/one, which has made the same\n"
    # A document counts by its meaning, wherever it is.
    Path("data/other.yaml").write_text("# mine\na:   1.0\n")
    assert run("three", source="data/other.yaml")[0].taken_from == "results/one"


@pytest.mark.parametrize("what", ["value", "code", "input", "environment", "stage"])
def test_products_of_something_else_are_made(run, worked, monkeypatch, what):
    run("one")
    changed = {}
    if what == "value":
        changed["number"] = 2
    elif what == "input":
        Path("data/in.yaml").write_text("a: 2\n")
    elif what == "code":
        changed["code"] = CODE[::-1]
        monkeypatch.setattr(stage_run, "code_of", lambda _: CODE[::-1])
    elif what == "environment":
        monkeypatch.setattr(stage_run, "environment", lambda: {"numpy": "another"})
    else:
        changed["stage"] = "datasets"
    assert run("two", **changed)[0].taken_from == ""
    assert worked == ["one", "two"]


@pytest.mark.parametrize("stage", ["report", "publish", "import_hits"])
def test_measurements_and_pages_are_each_run_s_own(run, worked, stage):
    for name in ("one", "two"):
        found, _ = run(name, stage=stage)
        assert (found.key, found.taken_from) == ("", "")
    assert worked == ["one", "two"]
    assert not store.STORE.exists()


def test_products_return_when_all_runs_have_lost_them(run, worked):
    _, made = run("one")
    for path in Path("results/one").glob("*.json"):
        path.unlink()
    assert run("one")[1] == made
    for digest in store.STORE.iterdir():
        digest.write_text("damaged")
    for path in Path("results/one").glob("*.json"):
        path.write_text("lost")
    assert run("two")[1] == made
    assert worked == ["one", "two"]


def test_a_source_that_was_edited_meanwhile_and_is_as_before_leaves_nothing(run, tmp_path, monkeypatch):
    package = tmp_path / "package"
    package.mkdir()
    source = package / "formula.py"
    source.write_text("x = 1\n")
    monkeypatch.setattr(sources, "PACKAGE", package)
    monkeypatch.setattr(sources, "PROJECT", tmp_path / "project")
    monkeypatch.setattr(stage_run, "sources_state", sources.sources_state)
    monkeypatch.setitem(globals(), "STATE", sources.sources_state())

    def edited(*, outputs, **_):
        times = source.stat()
        source.write_text("x = 2\n")
        for path in outputs:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("of the edited code")
        # Pages have a folder for their figures.
        outputs[0].unlink()
        outputs[0].mkdir()
        source.write_text("x = 1\n")
        os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))

    with pytest.raises(ParkfError, match=r"gather: its code has changed since .*; what it made is neither"):
        run("one", function=edited)
    assert list(Path("results/one").iterdir()) == []
    assert not store.STORE.exists()
    monkeypatch.setitem(globals(), "STATE", sources.sources_state())
    assert run("one")[0].taken_from == ""


def test_code_that_is_not_the_plan_s_does_not_work(run, worked):
    with pytest.raises(ParkfError, match="gather: its code has changed since the run was planned: start"):
        run("one", code=CODE[::-1])
    assert worked == []
    assert not Path("results/one").exists()


def test_a_stage_that_nobody_has_planned_runs_alone(run, worked):
    run("one")
    assert run("two", code=None)[0] is None
    assert worked == ["one", "two"]
    assert not Path("results/two", FILE).exists()


def test_a_planned_stage_makes_files_of_a_run(worked):
    call = Call("gather", lambda: None, {}, {}, [Path("elsewhere/a.json")], {})
    with pytest.raises(ParkfError, match=r"elsewhere/a\.json: .* expected results/<run>"):
        stage_run.run_stage(call, CODE, STATE)


def test_other_bytes_of_the_same_are_told_of_and_not_taken(run, worked, capsys):
    first, _ = run("one")
    Ledger(Path("results/two")).append(
        entry({path.replace("one", "two"): "0" * 64 for path in first.outputs}, key=first.key)
    )
    assert run("three")[0].taken_from == ""
    assert worked == ["one", "three"]
    assert "other bytes of the same, and none is taken" in capsys.readouterr().err
    for name, other in (("one", "two"), ("two", "one")):
        said = f"results/{name}/a.json: results/{other}/a.json was made of the same, and has other bytes"
        assert any(line.startswith(said) for line in check_runs(Path("results", name))), name
