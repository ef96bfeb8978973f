"""The RO-Crate of a published set: its files and the run that made them, as other programs read them.

The crate is the set's folder. It follows the profiles of Workflow Run RO-Crate: the workflow is parkf's
Snakefile, its inputs are the configuration and the fingerprints of the manifest, and its results are the
files of the set. The same set gives the same bytes.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from parkf.io.errors import ParkfError
from parkf.io.files import UNFINISHED, copy, sha256, write_json
from parkf.io.project import PROJECT
from parkf.params.manifest import Manifest
from parkf.params.parameter_set import load
from parkf.params.provenance import configuration, statement

METADATA_FILE, PROVENANCE_FILE, WORKFLOW_FILE = "ro-crate-metadata.json", "provenance.json", "Snakefile"
_CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
]
_CRATE, _WORKFLOW = "https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
_RUN = ["https://w3id.org/ro/wfrun/process/0.5", "https://w3id.org/ro/wfrun/workflow/0.5"]
_LICENSE = "https://spdx.org/licenses/Apache-2.0"
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
_PARAMETER = "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"
_PARTS = {
    "constant.f32": "Numbers that all tracks share, little-endian float32.",
    "global.f32": "The magnet table: coefficients by bins of x and y, little-endian float32.",
    "ghosts.f32": "The networks of the ghost score, little-endian float32.",
    "rich.f32": "Constants for states at the RICH planes, little-endian float32.",
    "slices.f32": "The steps inside the magnet: maps by slice and node, little-endian float32.",
    "manifest.json": "Contents, origin and checksums of the set; the meaning of every number.",
    "provenance.json": "In-toto statement with SLSA provenance of the files of numbers and of the manifest.",
    "Snakefile": "The workflow of the parkf that wrote this crate.",
}

Node = dict[str, Any]


def write_crate(folder: Path, manifest: Manifest) -> None:
    """Add workflow, provenance and the crate's metadata to the folder of a set."""
    copy(PROJECT / "Snakefile", folder / WORKFLOW_FILE)
    write_json(folder / PROVENANCE_FILE, statement(folder, manifest))
    write_json(folder / METADATA_FILE, {"@context": _CONTEXT, "@graph": _graph(folder, manifest)})


def export_crate(path: Path, to: Path) -> None:
    """Copy a published set to a new folder, which is an RO-Crate.

    A set that was published with its crate is copied as it is. A set that was not published, and a folder
    that exists, raise a ParkfError.
    """
    loaded = load(path, withdrawn=True)
    manifest = loaded.manifest
    if manifest.version is None:
        raise ParkfError(f"{path}: an unpublished set, expected a published one; publish it first")
    if to.exists():
        raise ParkfError(f"{to}: exists; name a new folder")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{to.name}.", suffix=UNFINISHED, dir=to.parent) as name:
        staging = Path(name) / "crate"
        staging.mkdir()
        for file in sorted(path.iterdir()):
            copy(file, staging / file.name)
        # Otherwise, another set could have been copied, which was put in the place of the one that was read.
        load(staging, sha256=loaded.sha256, withdrawn=True)
        if not (staging / METADATA_FILE).exists():
            write_crate(staging, manifest)
        shutil.move(staging, to)


def _graph(folder: Path, manifest: Manifest) -> list[Node]:
    files = [_file(path) for path in sorted(folder.iterdir()) if path.name in _PARTS]
    results = [one for one in files if one["@id"] not in (WORKFLOW_FILE, PROVENANCE_FILE)]
    values = list(_values(manifest))
    parameters = [_parameter(one, "PropertyValue") for one in values]
    outputs = [_parameter(one, "File") for one in results]
    workflow = next(one for one in files if one["@id"] == WORKFLOW_FILE)
    workflow |= {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "parkf",
        "programmingLanguage": {"@id": "#snakemake"},
        "version": manifest.code_version,
        "conformsTo": {"@id": _BIOSCHEMAS},
        "input": _ids(parameters),
        "output": _ids(outputs),
    }
    what = f"parameter set {manifest.version} of the Parameterised Kalman Filter"
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": manifest.version,
        "description": f"The {what}, for detector {manifest.detector}: {manifest.source}.",
        "datePublished": manifest.created,
        "license": {"@id": _LICENSE},
        "conformsTo": [{"@id": one} for one in [*_RUN, _WORKFLOW]],
        "hasPart": _ids(files),
        "mainEntity": {"@id": WORKFLOW_FILE},
        "mentions": {"@id": "#run"},
    }
    run: Node = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Training and publication of {manifest.version}",
        "description": f"What made the {what}, until its publication.",
        "endTime": (manifest.created or "").replace("Z", "+00:00"),
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "instrument": {"@id": WORKFLOW_FILE},
        "object": _ids(values),
        "result": _ids(results),
    }
    descriptor = {
        "@id": METADATA_FILE,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": [{"@id": _CRATE}, {"@id": _WORKFLOW}],
    }
    return [descriptor, root, run, *files, *values, *parameters, *outputs, *_known()]


def _known() -> Iterator[Node]:
    """Describe what the other entities refer to: licence, language and profiles."""
    yield {
        "@id": _LICENSE,
        "@type": "CreativeWork",
        "name": "Apache License 2.0",
        "description": "The licence of parkf and of its parameter sets.",
    }
    yield {
        "@id": "#snakemake",
        "@type": "ComputerLanguage",
        "name": "Snakemake",
        "identifier": {"@id": "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"},
        "url": {"@id": "https://snakemake.readthedocs.io"},
    }
    for name, place in zip(("Process Run Crate", "Workflow Run Crate"), _RUN, strict=True):
        yield {"@id": place, "@type": "CreativeWork", "name": name, "version": "0.5"}
    yield {"@id": _WORKFLOW, "@type": "CreativeWork", "name": "Workflow RO-Crate", "version": "1.0"}


def _file(path: Path) -> Node:
    return {
        "@id": path.name,
        "@type": "File",
        "name": path.name,
        "description": _PARTS[path.name],
        "encodingFormat": {".json": "application/json", ".f32": "application/octet-stream"}.get(
            path.suffix, "text/plain"
        ),
        "contentSize": str(path.stat().st_size),
        "sha256": sha256(path),
    }


def _values(manifest: Manifest) -> Iterator[Node]:
    """List the inputs of the run: values of its configuration, and fingerprints of what it read."""
    texts = {f"configuration/{key}": value for key, value in configuration(manifest).items()}
    for name, value in [*texts.items(), *((f"input/{key}", one) for key, one in manifest.inputs.items())]:
        kind, _, key = name.partition("/")
        text = value if isinstance(value, str) else json.dumps(value)
        label = key if kind == "configuration" else f"fingerprint of {key}"
        yield {"@id": f"#{quote(name)}", "@type": "PropertyValue", "name": label, "value": text}


def _parameter(example: Node, kind: str) -> Node:
    """Describe the place of an input or a result in the workflow, and name it there."""
    place = f"#parameter/{example['@id'].removeprefix('#')}"
    example["exampleOfWork"] = {"@id": place}
    return {
        "@id": place,
        "@type": "FormalParameter",
        "additionalType": kind,
        "name": example["name"],
        "description": f"{example['name']}, of a run of parkf.",
        "conformsTo": {"@id": _PARAMETER},
        "workExample": {"@id": example["@id"]},
    }


def _ids(nodes: list[Node]) -> list[Node]:
    return [{"@id": one["@id"]} for one in nodes]
