"""New entries of a registry's log: written and signed in a folder beside it, then renamed into it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.files import sha256, write_json
from parkf.io.ssh_signatures import check, public_line, sign, signers
from parkf.params.log import ENTRY_FILE, LOG, PURPOSE, SIGNERS_FILE, Entry, Log, entry_path


def published(folder: Path, version: str, files: Path, layout_version: int, time: str) -> dict[str, Any]:
    """Describe a publication in the registry of a set, whose files are in `files`, with its layout."""
    layout = f"layouts/{layout_version}.json"
    names = (path for path in files.iterdir() if path.name != "withdrawn.json")
    hashes = {f"{version}/{path.name}": sha256(path) for path in names}
    hashes[layout] = sha256(folder / layout)
    return {"kind": "published", "set": version, "time": time, "files": hashes, "reason": None}


def withdrawn(version: str, reason: str, time: str) -> dict[str, Any]:
    """Describe a withdrawal."""
    return {"kind": "withdrawn", "set": version, "time": time, "files": {}, "reason": reason}


def handed_over(keys: Sequence[Path], time: str) -> dict[str, Any]:
    """Describe a handover to keys, given by their files."""
    lines = [public_line(key, PURPOSE) for key in keys]
    return {"kind": "handover", "set": None, "time": time, "files": {}, "reason": None, "keys": lines}


def key_name(key: Path) -> str:
    """Return the name of a key in its registry."""
    return public_line(key, PURPOSE).partition(" ")[0]


def stage(log: Log, events: Sequence[Mapping[str, Any]], key: Path, staging: Path) -> None:
    """Write and sign the entries of events that follow a log, in the folder `staging`.

    A ParkfError reports a key that cannot be used, and one that the registry does not name. A registry that
    names no key yet will name this one.
    """
    previous, paths = log.head, []
    for number, event in enumerate(events, len(log.entries) + 1):
        path = entry_path(staging, number)
        write_json(path, Entry(number=number, previous=previous, **event).content())
        previous = sha256(path)
        paths.append(path)
    names = log.folder / SIGNERS_FILE
    if not names.exists():
        names = staging / SIGNERS_FILE
        names.write_text(f"{public_line(key, PURPOSE)}\n")
    sign(paths, key, PURPOSE)
    keys = log.keys or signers(names, PURPOSE)
    for path in paths:
        check(signature_of(path), path.read_bytes(), keys, PURPOSE)


def sign_again(log: Log, key: Path, staging: Path) -> None:
    """Replace the signature of the newest entry by that of another key that the registry names."""
    path = entry_path(log.folder, len(log.entries))
    copied = staging / ENTRY_FILE
    copied.write_bytes(path.read_bytes())
    sign([copied], key, PURPOSE)
    check(signature_of(copied), path.read_bytes(), log.newest_keys, PURPOSE)
    signature_of(copied).replace(signature_of(path))


def install(staging: Path, folder: Path) -> None:
    """Move staged entries into the log of a registry; a number that is there already raises a ParkfError."""
    if (staging / SIGNERS_FILE).exists():
        (staging / SIGNERS_FILE).replace(folder / SIGNERS_FILE)
    moved = (
        [Path(LOG)]
        if not (folder / LOG).exists()
        else sorted(path.relative_to(staging) for path in (staging / LOG).iterdir())
    )
    for path in moved:
        try:
            (staging / path).rename(folder / path)
        except OSError as error:
            raise ParkfError(f"{folder / path}: was written meanwhile; try again") from error


def signature_of(entry: Path) -> Path:
    """Return the file with the signature of an entry."""
    return entry.with_name(f"{entry.name}.sig")
