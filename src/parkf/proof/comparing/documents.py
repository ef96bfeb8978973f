"""Input files of a set, found by their fingerprints in its manifest."""

import json
from collections.abc import Mapping
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import copy
from parkf.io.fingerprints.meaning import is_file_of
from parkf.params.manifest import Manifest
from parkf.params.registry import readable_registry

# Folder in a run and in a registry with copies of geometry and alignment; the original files may change.
INPUTS = "inputs"
KEPT = ("geometry", "alignment")
# Key of the configuration with the path of each kind of input.
FILES = {"geometry": "detector.geometry", "alignment": "detector.alignment", "field source": "field.source"}


def file_name(kind: str, manifest: Manifest) -> str | None:
    """Return the path that an input had when the set was made, or None where it is not known."""
    text = (manifest.configuration or {}).get(FILES[kind])
    return None if text is None else str(json.loads(text))


def find_document(kind: str, manifest: Manifest, run: Path | None = None) -> Path | None:
    """Find a file with the fingerprint of an input in a set's manifest, or return None.

    The copies in the folder of the set's run and in the registry are tried first. Then follow the path that
    the file had when the set was made, and other files in its folder. `kind` is one of :data:`FILES`.
    """
    fingerprint, name = manifest.inputs.get(kind), file_name(kind, manifest)
    if fingerprint is None:
        return None
    candidates = [] if run is None else [run / INPUTS / f"{kind}.yaml"]
    candidates.append(_published(readable_registry().folder, fingerprint))
    if name is not None:
        path = Path(name)
        candidates += [path, *sorted(path.parent.glob(f"*{path.suffix}"))]
    return next((one for one in candidates if one.is_file() and is_file_of(one, fingerprint)), None)


def keep_documents(run: Path, manifest: Manifest, given: Mapping[str, Path]) -> None:
    """Copy the geometry and alignment of a run's set to its folder, for later comparisons.

    `given` has paths by kind; a file that differs from the set's raises a ParkfError. Files that are not
    given are searched for, and left out if they are not found.
    """
    for kind in KEPT:
        source = given.get(kind) or find_document(kind, manifest, run)
        fingerprint = manifest.inputs.get(kind)
        if kind in given and (fingerprint is None or not is_file_of(given[kind], fingerprint)):
            raise ParkfError(f"{given[kind]}: has changed since the set was made from it; run again")
        target = run / INPUTS / f"{kind}.yaml"
        if source is not None and source != target:
            copy(source, target)


def publish_documents(run: Path, manifest: Manifest, registry: Path) -> None:
    """Copy the geometry and alignment of a run's set to a registry, for comparisons of published sets.

    A file that is there already stays as it is: one with other comments has the same fingerprint.
    """
    for kind in KEPT:
        if (source := find_document(kind, manifest, run)) is not None:
            target = _published(registry, manifest.inputs[kind])
            if not (target.is_file() and is_file_of(target, manifest.inputs[kind])):
                copy(source, target)


def _published(registry: Path, fingerprint: str) -> Path:
    return registry / INPUTS / f"{fingerprint}.yaml"
