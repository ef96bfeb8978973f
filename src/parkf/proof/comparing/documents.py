"""Input files of a set, found by their fingerprints in its manifest."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from parkf.io.documents.document import read_document
from parkf.io.errors import ParkfError
from parkf.io.files import copy
from parkf.io.fingerprints.meaning import is_file_of
from parkf.params.manifest import Manifest
from parkf.params.registry import readable_registry

# Folder of a run and of a registry with copies of geometry and alignment, because files change.
INPUTS = "inputs"
KEPT = ("geometry", "alignment")
# Key of the configuration with the path of each kind of input.
FILES = {
    "geometry": "detector.geometry",
    "alignment": "detector.alignment",
    "field source": "field.source",
}


def file_name(kind: str, configuration: Mapping[str, str] | None) -> str | None:
    """Return the path of an input in the configuration, or None."""
    text = (configuration or {}).get(FILES[kind])
    return None if text is None else str(json.loads(text))


def find_document(
    kind: str, fingerprint: str | None, path: str | None, runs: Sequence[Path] = ()
) -> Path | None:
    """Find a file that has a fingerprint, or return None.

    Parameters
    ----------
    kind : str
        ``geometry``, ``alignment`` or ``field source``.
    fingerprint : str or None
        Of the file that is looked for, as its set's manifest has it.
    path : str or None
        Its path when the set was made; other files of this folder are tried, too.
    runs : sequence of Path
        Folders of runs, whose copies are tried first; then those of the registry.
    """
    if fingerprint is None:
        return None
    published = _published(readable_registry().folder, fingerprint)
    candidates = _candidates(kind, path, runs, published)
    return next((one for one in candidates if is_file_of(one, fingerprint)), None)


def keep_documents(run: Path, manifest: Manifest, given: Mapping[str, Path]) -> None:
    """Copy the geometry and alignment of a run's set to its folder, for later comparisons.

    Parameters
    ----------
    run : Path
    manifest : Manifest
        Of its set.
    given : mapping of str to Path
        Paths by kind. Others are searched for, and left out where they are not found.

    Raises
    ------
    ParkfError
        When a given file is not the one of the set.
    """
    for kind in KEPT:
        source = given.get(kind) or _source(kind, run, manifest)
        fingerprint = manifest.inputs.get(kind)
        if kind in given and (fingerprint is None or not is_file_of(given[kind], fingerprint)):
            raise ParkfError(f"{given[kind]}: has changed since the set was made from it; run again")
        target = run / INPUTS / f"{kind}.yaml"
        if source is not None and source != target:
            copy(source, target)


def publish_documents(run: Path, manifest: Manifest, registry: Path) -> None:
    """Copy them to a registry, for comparisons of published sets."""
    for kind in KEPT:
        if (source := _source(kind, run, manifest)) is not None:
            copy(source, _published(registry, manifest.inputs[kind]))


def _source(kind: str, run: Path, manifest: Manifest) -> Path | None:
    return find_document(kind, manifest.inputs.get(kind), file_name(kind, manifest.configuration), [run])


def _published(registry: Path, fingerprint: str) -> Path:
    return registry / INPUTS / f"{fingerprint}.yaml"


def tag(kind: str, path: Path) -> str | None:
    """Return the tag in a geometry or alignment; other files have none.

    Raises
    ------
    ParkfError
        When the file cannot be read.
    """
    # Read without a schema, because files of other format versions have tags, too.
    content = read_document(path).content if kind in KEPT else None
    found = content.get("tag") if isinstance(content, dict) else None
    return None if found is None else str(found)


def _candidates(kind: str, path: str | None, runs: Iterable[Path], published: Path) -> Iterator[Path]:
    copies = [*(run / INPUTS / f"{kind}.yaml" for run in runs), published]
    yield from (one for one in copies if one.is_file())
    if path is not None:
        named = Path(path)
        near = sorted(named.parent.glob(f"*{named.suffix}")) if named.parent.is_dir() else []
        yield from (one for one in (named, *near) if one.is_file())
