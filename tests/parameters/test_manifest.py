"""The manifest's JSON schema is the one in the workflow's folder, and real manifests pass it."""

import json
from pathlib import Path

from jsonschema import Draft202012Validator

from parkf.parameters.manifest import json_schema, read_manifest, write_manifest

SCHEMA = Path(__file__).parents[2] / "workflow/schemas/manifest.schema.json"


def test_schema_file_is_current():
    """Refresh with: python -m parkf.parameters.manifest > workflow/schemas/manifest.schema.json."""
    assert json.loads(SCHEMA.read_text()) == json_schema()


def test_manifest_passes_its_schema(tmp_path, manifest):
    path = tmp_path / "manifest.json"
    write_manifest(path, manifest)
    Draft202012Validator(json_schema()).validate(json.loads(path.read_text()))
    assert read_manifest(path) == manifest
