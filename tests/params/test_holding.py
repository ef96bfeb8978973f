"""`parkf params for`, on a registry whose sets follow each other."""

import json

import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.project import PROJECT
from parkf.params.index import write_index
from parkf.params.manifest import Gate
from parkf.params.parameter_set import ParameterSet
from parkf.params.registry import Registry
from parkf.params.validity import Moment, validity_of

GATES = [Gate(what="ghosts", measured="25 %", bar="40 %", met=True)]
R1, R2, R3 = (f"2026-run3-r00{i}" for i in (1, 2, 3))


@pytest.fixture
def publish(made, sets):
    """Publish a set that differs from others in the beam line, for these limits."""

    def call(number, *, detector="run3", **limits):
        folder = made(number, detector=detector)
        return sets.publish(folder, year=2026, gates=GATES, validity=validity_of(limits))

    return call


@pytest.fixture
def params(sets):
    def call(*arguments):
        done = CliRunner().invoke(app, ["params", *map(str, arguments), "--registry", str(sets.folder)])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    return call


def holds(params, data, *options):
    code, text = params("for", data, "--json", *options)
    return code, [row["set"] for row in json.loads(text)]


def test_the_newest_set_for_a_run_holds(publish, params, sets):
    publish(1, first_run=100)
    publish(2, first_run=200)
    assert [holds(params, run) for run in (99, 100, 199, 200, 10**6)] == [
        (1, [None]),
        (0, [R1]),
        (0, [R1]),
        (0, [R2]),
        (0, [R2]),
    ]
    # A withdrawn set does not count, so the set before it holds again.
    sets.withdraw(R2, "wrong field")
    assert holds(params, 200) == (0, [R1])


def test_sets_of_two_registries_brought_together_may_be_unclear(publish, params, sets):
    """Both later sets superseded the first set, and neither of them names the other."""
    publish(1)
    publish(2, first_run=10)
    publish(3, last_run=12)
    index = sets.index()
    assert index.sets[R3].supersedes == R2
    entry = index.sets[R3].model_copy(update={"supersedes": R1})
    write_index(sets.folder, index.model_copy(update={"sets": index.sets | {R3: entry}}))
    code, text = params("for", 11)
    assert code == 2
    assert f"{R2} and {R3} are both for run 11, and neither superseded the other; withdraw one" in text
    assert holds(params, 13) == (0, [R2])


def test_detectors_and_forms_stand_side_by_side(publish, params, better, sets, tmp_path):
    publish(1)
    publish(2, detector="velo-open", first_time="2026-05-03T12:00Z")
    manifest = better.manifest.model_copy(update={"detector": "run3"})
    ParameterSet(better.constant, better.table, manifest).save(tmp_path / "better")
    sets.publish(tmp_path / "better", year=2026, gates=GATES)
    now = "2026-06-01T00:00Z"
    assert holds(params, now) == (0, [R1, R2, "2026-velo-open-r001"])
    assert holds(params, now, "--detector", "velo-open") == (0, ["2026-velo-open-r001"])
    assert holds(params, now, "--detector", "run3", "--forms", "improved") == (0, [R2])
    assert holds(params, now, "--detector", "run2") == (1, [])
    assert set(sets.series(detector="run3")) == {("run3", "production"), ("run3", "improved")}
    assert set(sets.series(forms="production")) == {("run3", "production"), ("velo-open", "production")}
    sets.withdraw("2026-velo-open-r001", "wrong field")
    assert set(sets.series(forms="production")) == {("run3", "production")}


def test_a_question_that_is_none_and_an_empty_registry(params):
    assert params("for", "tomorrow")[0] == 2
    code, text = params("for", 5)
    assert code == 1
    assert "no published sets" in text


def test_the_shipped_registry_is_clear():
    for series in Registry(PROJECT / "params").series().values():
        assert len(series.at(Moment("run", 1)).holding) == 1
