"""A training can be repeated if inputs and formulas are the same; if not, the message names what differs."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.model.steps import STEP_NAMES
from parkf.params.configuration import flat, nested
from parkf.params.parameter_set import ParameterSet, with_blobs
from parkf.workflow import reproduce as module
from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.reproduce import replay
from parkf.workflow.run import Run

ROOT = Path(__file__).parents[2]
CONFIG = laid(read_layers(ROOT / "workflow/config/smoke.yaml")) | {"forms": "production"}
INPUTS = {
    "geometry": "data/geometry/run3.yaml",
    "alignment": "data/geometry/alignment_nominal.yaml",
    "field source": "data/field/lhcb.json",
}


@pytest.fixture
def trained(parameters) -> ParameterSet:
    """A set with the configuration and inputs of this checkout."""
    update = {
        "configuration": flat(Run(CONFIG).training),
        "inputs": {name: sha256(ROOT / path) for name, path in INPUTS.items()},
    }
    manifest = parameters.manifest.model_copy(update=update)
    return ParameterSet(parameters.constant, parameters.table, manifest)


def changed(parameters, **update):
    manifest = parameters.manifest.model_copy(update=update)
    return ParameterSet(parameters.constant, parameters.table, manifest)


def test_a_configuration_goes_flat_and_back():
    kept = Run(CONFIG).training
    assert nested(flat(kept)) == kept
    assert flat(kept)["events.training"] == "80"
    assert kept.keys().isdisjoint({"run", "fits", "signals"})
    assert "validation" not in kept["events"]
    with pytest.raises(ParkfError, match=r"configuration\.a\.b: lies inside"):
        nested({"a": "1", "a.b": "2"})
    with pytest.raises(ParkfError, match=r"configuration\.a: got \{, expected JSON"):
        nested({"a": "{"})


def test_the_same_inputs_are_run_with_the_same_configuration(trained, tmp_path, monkeypatch):
    def run(config, project, work, cores):
        assert Run(config).training == Run(CONFIG).training
        assert (project, cores) == (ROOT, 2)
        trained.save(work / "results/reproduced/set")

    monkeypatch.setattr(module, "_run", run)
    found = replay(trained, ROOT, tmp_path, 2)
    assert found.identical
    assert not found.inputs
    assert not found.environment


def test_a_training_is_repeated_in_a_new_folder_and_again_in_the_same_one(trained, tmp_path, monkeypatch):
    work, commands = tmp_path / "none/of/these", []

    def snakemake(command, **_):
        commands.append(command)
        trained.save(work / "results/reproduced/set")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(module.subprocess, "run", snakemake)
    for _ in range(2):
        assert replay(trained, ROOT, work, 3).identical
    command = commands[0]
    assert command[command.index("--cores") + 1] == "3"
    assert command[command.index("--directory") + 1] == str(work)
    monkeypatch.setattr(
        module.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1)
    )
    with pytest.raises(ParkfError, match="the repeated training failed"):
        replay(trained, ROOT, tmp_path / "other", 1)


def test_a_set_from_before_the_noise_scale_is_made_without(trained, tmp_path, monkeypatch):
    kept = {k: v for k, v in trained.manifest.configuration.items() if "noise_scale" not in k}
    assert len(kept) == len(trained.manifest.configuration) - 8

    def run(config, project, work, cores):
        assert set(config["training"]["noise_scale"].values()) == {1.0}
        trained.save(work / "results/reproduced/set")

    monkeypatch.setattr(module, "_run", run)
    assert replay(changed(trained, configuration=kept), ROOT, tmp_path, 1).identical


@pytest.mark.parametrize("name", INPUTS)
def test_another_input_is_named(trained, tmp_path, name):
    other = changed(trained, inputs=trained.manifest.inputs | {name: "0" * 64})
    message = rf"{INPUTS[name]}: sha256 \w+…, expected 000000000000… of the {name} of the set"
    with pytest.raises(ParkfError, match=message):
        replay(other, ROOT, tmp_path, 1)
    lacking = changed(trained, inputs={k: v for k, v in trained.manifest.inputs.items() if k != name})
    with pytest.raises(ParkfError, match=f"the manifest has no fingerprint of the {name}"):
        replay(lacking, ROOT, tmp_path, 1)


def test_other_obstacles_are_named(trained, tmp_path):
    config = trained.manifest.configuration
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in STEP_NAMES:
        (mine / f"{name}.parquet").touch()
    for update, message in (
        ({"configuration": None}, "the set is 'test': its manifest has no configuration"),
        (
            {"steps": trained.manifest.steps | {"T": "0" * 64}},
            "step T: its formulas are not those of the set",
        ),
        (
            {"configuration": config | {"field.spacing": "7"}},
            "config: field.spacing: got 7, expected at least",
        ),
        (
            {"configuration": config | {"field.source": '"x.json"'}},
            "config: field.source: x.json: no such file",
        ),
        (
            {"configuration": config | {"training.datasets": '"mine"'}},
            r"training\.datasets: mine: got no files",
        ),
        (
            {"configuration": config | {"training.datasets": json.dumps(str(mine))}},
            r"mine/V\.parquet: the manifest has no",
        ),
    ):
        with pytest.raises(ParkfError, match=message):
            replay(changed(trained, **update), ROOT, tmp_path, 1)
    with pytest.raises(ParkfError, match="no such file"):
        replay(trained, tmp_path, tmp_path, 1)


def test_what_differs_is_named(trained, tmp_path, monkeypatch):
    constant = trained.constant.copy()
    constant[3] += 1
    inputs = {**trained.manifest.inputs, "table": "1"}
    versions = {"python": "3.9.1", "numpy": np.__version__, "nothing": "1"}
    other = changed(with_blobs(trained.manifest, constant, trained.table), inputs=inputs)
    monkeypatch.setattr(
        module, "_run", lambda config, project, work, cores: other.save(work / "results/reproduced/set")
    )
    found = replay(changed(trained, environment=versions), ROOT, tmp_path, 1)
    assert not found.identical
    assert found.inputs == ["table"]
    python, nothing = found.environment
    assert python.startswith("python 3.1")
    assert python.endswith("the set was published with 3.9.1")
    assert nothing == "nothing not installed, the set was published with 1"
