"""The provenance of a set: what it was made from, as an in-toto statement with SLSA's predicate.

The statement follows https://in-toto.io/Statement/v1 and https://slsa.dev/provenance/v1. It has no signature
of its own. The registry's index has its SHA-256.
"""

import json
from pathlib import Path
from typing import Any

from parkf.io.files import sha256
from parkf.params.manifest import Manifest

STATEMENT, PREDICATE = "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"
BUILD, BUILDER = "urn:parkf:training:1", "urn:parkf:publish:1"


def configuration(manifest: Manifest) -> dict[str, Any]:
    """Return the values of the run's configuration that decided the training, by their keys."""
    return {key: json.loads(value) for key, value in (manifest.configuration or {}).items()}


def statement(folder: Path, manifest: Manifest) -> dict[str, Any]:
    """Describe how the files of a set, its numbers and its manifest, were made.

    Inputs have fingerprints of their meaning. Thus their digests are not called ``sha256``.
    """
    names = sorted(path.name for path in folder.iterdir() if path.suffix == ".f32")
    build = {
        "buildType": BUILD,
        "externalParameters": {"source": manifest.source, "configuration": configuration(manifest)},
        "internalParameters": {
            "detector": manifest.detector,
            "forms": manifest.forms,
            "layout": manifest.layout_version,
            "seeds": manifest.seeds,
        },
        "resolvedDependencies": [
            {"name": name, "digest": {"parkfFingerprint": value}}
            for name, value in sorted((manifest.inputs | {"formulas": manifest.formulas}).items())
        ],
    }
    version = manifest.environment | {"parkf": manifest.code_version}
    run = {
        "builder": {"id": BUILDER, "version": version},
        "metadata": {"invocationId": manifest.version, "finishedOn": manifest.created},
    }
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": name, "digest": {"sha256": sha256(folder / name)}} for name in [*names, "manifest.json"]
        ],
        "predicateType": PREDICATE,
        "predicate": {"buildDefinition": build, "runDetails": run},
    }
