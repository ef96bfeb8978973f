"""The audit of a registry: its folders and files, compared with its index."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.params.index import INDEX_FILE, VERSION, Entry, index_bytes, parse_index
from parkf.params.parameter_set import load
from parkf.params.set_folder import SetFolder
from parkf.params.signature import check


def audit(registry: Path, signers: Path | None = None) -> list[str]:
    """Compare a registry with its index; return a message for each file or set that is not what it lists.

    With `signers`, the reader's file of keys, the index must be signed by one of them
    (:mod:`parkf.params.signature`). A folder without index and sets has no problems, but is not signed.
    """
    try:
        content = index_bytes(registry) if signers is None else check(registry, signers)[0]
        index = parse_index(registry, content)
    except ParkfError as error:
        return [str(error)]
    if content is None:
        return []
    problems = [one for version, entry in index.sets.items() for one in _of_set(registry / version, entry)]
    layouts = {f"{version}.json": sha256 for version, sha256 in index.layouts.items()}
    if layouts:
        problems += _of_files(registry / "layouts", layouts)
    unlisted = {path.name for path in registry.iterdir() if VERSION.fullmatch(path.name)} - index.sets.keys()
    problems += [
        f"{registry / name}: not in {INDEX_FILE}: nobody published this set here, or its publication was"
        " interrupted, which the next one finishes; publish it, or remove the folder"
        for name in sorted(unlisted)
    ]
    return problems


def _of_set(folder: Path, entry: Entry) -> Iterator[str]:
    found = list(_of_files(folder, entry.files))
    yield from found
    if found:
        return
    try:
        load(folder, withdrawn=True)
    except ParkfError as error:
        yield str(error)


def _of_files(folder: Path, listed: dict[str, str]) -> Iterator[str]:
    try:
        with SetFolder(folder, links=False) as files:
            for name, expected in listed.items():
                try:
                    got = hashlib.sha256(files.read(name)).hexdigest()
                except ParkfError as error:
                    yield str(error)
                    continue
                if got != expected:
                    yield (
                        f"{folder / name}: sha256 {got}, expected {expected} of {INDEX_FILE}; it was changed"
                        " after its publication: get it again from another copy"
                    )
            for name in files.names():
                if name not in listed:
                    yield f"{folder / name}: not in {INDEX_FILE}; the set was published without it: remove it"
    except ParkfError:
        yield f"{folder}: missing, or a link; {INDEX_FILE} lists it: get it again from another copy"
