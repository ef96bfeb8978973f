"""The crate of a published set: complete, the same bytes twice, and consistent with the set's files."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from tools import crates
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.params.parameter_set import load

ROOT = Path(__file__).parents[2]
NAME = "2026-run3-like-2-r011"


@pytest.fixture
def crate(tmp_path):
    """Make the crate of a set that was published without one."""
    path = tmp_path / "crate"
    words = ["params", "crate", NAME, str(path), "--registry", str(ROOT / "params")]
    assert CliRunner().invoke(app, words).exit_code == 0
    return path


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_set_is_in_the_crate_unchanged(crate):
    published = read(ROOT / "params" / NAME)
    assert {name: content for name, content in read(crate).items() if name in published} == published
    assert load(crate).manifest.version == NAME


def test_a_crate_is_copied_as_it_is_and_overwrites_nothing(crate, tmp_path):
    words = ["params", "crate", str(crate), str(tmp_path / "again")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert read(tmp_path / "again") == read(crate)
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "again: exists; name a new folder" in done.output


def test_the_metadata_describe_every_file_and_refer_to_nothing_that_is_not_there(crate):
    graph = json.loads((crate / "ro-crate-metadata.json").read_text())["@graph"]
    nodes = {node["@id"]: node for node in graph}
    assert len(nodes) == len(graph)
    files = {name: node for name, node in nodes.items() if "File" in node["@type"] or node["@type"] == "File"}
    assert files.keys() == read(crate).keys() - {"ro-crate-metadata.json"}
    for name, node in files.items():
        content = (crate / name).read_bytes()
        assert node["sha256"] == hashlib.sha256(content).hexdigest()
        assert node["contentSize"] == str(len(content))
    known = {"https://w3id.org/ro/crate/1.1", "https://snakemake.readthedocs.io"}
    for node in graph:
        for values in node.values():
            for one in values if isinstance(values, list) else [values]:
                if isinstance(one, dict):
                    place = one["@id"]
                    assert place in nodes or place in known or "#snakemake" in place or "bioschemas" in place


def test_the_provenance_names_inputs_configuration_and_products(crate):
    manifest = load(ROOT / "params" / NAME).manifest
    statement = json.loads((crate / "provenance.json").read_text())
    products = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    assert products["constant.f32"] == manifest.blobs.constant.sha256
    assert products.keys() == {"constant.f32", "ghosts.f32", "global.f32", "rich.f32", "manifest.json"}
    build = statement["predicate"]["buildDefinition"]
    inputs = {one["name"]: one["digest"]["parkfFingerprint"] for one in build["resolvedDependencies"]}
    assert manifest.inputs.items() <= inputs.items()
    assert build["externalParameters"]["configuration"]["seed"] == 2026


def test_an_unpublished_set_has_no_crate(crate, tmp_path):
    other = shutil.copytree(crate, tmp_path / "open")
    text = (other / "manifest.json").read_text()
    (other / "manifest.json").unlink()
    content = json.loads(text) | {"version": None, "state": "open", "checksum": "0" * 64}
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    (other / "manifest.json").write_text(text.replace("0" * 64, digest, 1))
    done = CliRunner().invoke(app, ["params", "crate", str(other), str(tmp_path / "new")])
    assert done.exit_code == 2
    assert "an unpublished set, expected a published one" in done.output


def test_public_validators_accept_it(crate, tmp_path):
    for name in ("rocrate_validator", "in_toto_attestation", "rocrate"):
        pytest.importorskip(name)
    crates.prepare(tmp_path / "cache")
    problems = crates.crate_problems(crate, tmp_path / "cache")
    assert [one for one in problems if one.startswith("REQUIRED")] == []
    assert crates.statement_problems(crate / "provenance.json") == []
