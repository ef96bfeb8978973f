"""The manifest's JSON schema is the one in the workflow's folder, and real manifests pass it."""

import json
from pathlib import Path

import bad_sets
import pytest
from jsonschema import Draft202012Validator

from parkf.io.errors import ParkfError
from parkf.params.manifest import FORMAT_VERSION, json_schema, read_manifest, write_manifest
from parkf.params.schema import first_problem, read_document

SCHEMA = Path(__file__).parents[2] / "workflow/schemas/manifest.schema.json"


def test_schema_file_is_current():
    """Refresh with: python -m parkf.params.manifest > workflow/schemas/manifest.schema.json."""
    assert json.loads(SCHEMA.read_text()) == json_schema()


def test_manifest_passes_its_schema(tmp_path, manifest):
    path = tmp_path / "manifest.json"
    write_manifest(path, manifest)
    Draft202012Validator(json_schema()).validate(json.loads(path.read_text()))
    assert read_manifest(path) == manifest


def test_a_manifest_for_this_reader_is_read(tmp_path, manifest):
    path = tmp_path / "manifest.json"
    write_manifest(path, manifest)
    bad_sets.edit(lambda content: content.update(minimum_reader=FORMAT_VERSION))(tmp_path)
    assert read_manifest(path).constants == manifest.constants


def test_numbers_that_json_does_not_have_are_not_written(tmp_path, manifest):
    path = tmp_path / "manifest.json"
    write_manifest(path, manifest)
    before = path.read_bytes()
    constants = manifest.constants.model_copy(update={"beam_x": float("nan")})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_manifest(path, manifest.model_copy(update={"constants": constants}))
    assert path.read_bytes() == before


def test_the_largest_document_has_four_mebibytes(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("1" + " " * 4_194_303)
    assert read_document(path) == 1
    path.write_text("1" + " " * 4_194_304)
    with pytest.raises(ParkfError, match=r"a\.json: 4194305 bytes, expected at most 4194304"):
        read_document(path)


def test_a_bound_is_in_or_out_as_the_schema_says():
    more, least = {"type": "number", "exclusiveMinimum": 0}, {"type": "number", "minimum": 2}
    assert first_problem(more, 0) == "got 0, expected more than 0"
    assert first_problem(more, 1e-300) is None
    assert first_problem(least, 2) is None
    assert first_problem(least, 1.5) == "got 1.5, expected at least 2"
    assert first_problem({"enum": ["run3"]}, "Löwe") == 'got "Löwe", expected "run3"'
    # A boolean is not a number, and 1 is not a boolean.
    assert first_problem({"enum": [1]}, True) is not None
