"""The files that a set was made from, found again by fingerprint: a manifest keeps no more than that."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from parkf.io.documents.document import read_document
from parkf.io.errors import ParkfError
from parkf.io.files import copy, sha256
from parkf.params.manifest import Manifest
from parkf.params.registry import readable_registry

# Of a run's folder, and of a registry: copies of geometry and alignment, since files change.
INPUTS = "inputs"
KEPT = ("geometry", "alignment")
# Kind of input, and the key of the configuration that names its file.
FILES = {
    "geometry": "detector.geometry",
    "alignment": "detector.alignment",
    "field source": "field.source",
}


def file_name(kind: str, configuration: Mapping[str, str] | None) -> str | None:
    """Path of an input as the configuration has it; None where it does not say."""
    text = (configuration or {}).get(FILES[kind])
    return None if text is None else str(json.loads(text))


def find_document(
    kind: str, fingerprint: str | None, path: str | None, runs: Sequence[Path] = ()
) -> Path | None:
    """Find a file with these bytes.

    Parameters
    ----------
    kind : str
        ``geometry``, ``alignment`` or ``field source``.
    fingerprint : str or None
        SHA-256 of the file that is looked for.
    path : str or None
        Where it lay when the set was made; files beside it are tried, too.
    runs : sequence of Path
        Folders of runs, whose copies are tried first; then those of the registry.

    Returns
    -------
    Path or None
        None where no such file is at hand.
    """
    if fingerprint is None:
        return None
    published = _published(readable_registry().folder, fingerprint)
    return next((one for one in _places(kind, path, runs, published) if sha256(one) == fingerprint), None)


def keep_documents(run: Path, manifest: Manifest, given: Mapping[str, Path]) -> None:
    """Copy the geometry and alignment that a run's set was made from to its folder, for later comparisons.

    Parameters
    ----------
    run : Path
    manifest : Manifest
        Of its set.
    given : mapping of str to Path
        Where they lie, by kind; otherwise they are looked for, and left out where they are not found.

    Raises
    ------
    ParkfError
        When a given file is another one than the set was made from.
    """
    for kind in KEPT:
        fingerprint = manifest.inputs.get(kind)
        if kind in given:
            if sha256(given[kind]) != fingerprint:
                raise ParkfError(f"{given[kind]}: has changed since the set was made from it; run again")
            source: Path | None = given[kind]
        else:
            source = find_document(kind, fingerprint, file_name(kind, manifest.configuration), [run])
        target = run / INPUTS / f"{kind}.yaml"
        if source is not None and source != target:
            copy(source, target)


def publish_documents(run: Path, manifest: Manifest, registry: Path) -> None:
    """Copy the same to a registry, where comparisons of published sets look for them."""
    for kind in KEPT:
        fingerprint = manifest.inputs.get(kind)
        source = find_document(kind, fingerprint, file_name(kind, manifest.configuration), [run])
        if source is not None:
            copy(source, _published(registry, str(fingerprint)))


def _published(registry: Path, fingerprint: str) -> Path:
    return registry / INPUTS / f"{fingerprint}.yaml"


def tag(kind: str, path: Path) -> str | None:
    """Tag that a geometry or alignment gives itself; other files have none.

    Raises
    ------
    ParkfError
        When the file cannot be read.
    """
    # No schema is asked for, since files of other format versions have tags, too.
    content = read_document(path).content if kind in KEPT else None
    found = content.get("tag") if isinstance(content, dict) else None
    return None if found is None else str(found)


def _places(kind: str, path: str | None, runs: Iterable[Path], published: Path) -> Iterator[Path]:
    sure = [*(run / INPUTS / f"{kind}.yaml" for run in runs), published]
    named = None if path is None else Path(path)
    yield from (one for one in [*sure, *([] if named is None else [named])] if one.is_file())
    if named is not None and named.parent.is_dir():
        yield from sorted(one for one in named.parent.glob(f"*{named.suffix}") if one.is_file())
