"""A small signed registry, its keys, an older copy of it, and means to change and to sign it again."""

import hashlib
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import numpy as np

from parkf.params.log import Log
from parkf.params.parameter_set import ParameterSet, load, with_blobs
from parkf.params.publisher import Publisher
from parkf.params.signing import install, published, stage, withdrawn

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "params/2026-run3-like-2-r011"
SETS = tuple(f"2026-run3-like-2-r{number:03}" for number in range(1, 5))
PLANTED = "2026-run3-like-2-r005"


@dataclass(frozen=True)
class World:
    """What a forger finds."""

    registry: Path  # four sets; the second was withdrawn before the fourth was published, and then the first
    older: Path  # the same before the fourth was published
    key: Path  # of the registry
    stranger: Path  # another key
    unpublished: Path  # a good set that nobody published


def build(folder: Path) -> World:
    """Make the registry, its keys and its older copy in an empty folder."""
    keys = [new_key(folder / name, name) for name in ("maintainer", "stranger")]
    genuine, key = load(SOURCE), keys[0]
    registry = Publisher(folder / "params")

    def made(number: int) -> Path:
        constants = genuine.manifest.constants.model_copy(update={"beam_x": number / 1000})
        about = {"version": None, "state": "open", "supersedes": None, "created": None, "gates": []}
        manifest = genuine.manifest.model_copy(update={**about, "constants": constants})
        replace(genuine, manifest=manifest).save(folder / f"set{number}")
        return folder / f"set{number}"

    def publish(number: int) -> None:
        registry.publish(made(number), year=2026, gates=genuine.manifest.gates, key=key)

    for number in (1, 2, 3):
        publish(number)
    registry.withdraw(SETS[1], "the UT was misaligned", key)
    copytree(registry.folder, folder / "older")
    publish(4)
    registry.withdraw(SETS[0], "trained with another field", key)
    return World(registry.folder, folder / "older", key, keys[1], made(5))


def new_key(path: Path, name: str, kind: str = "ed25519") -> Path:
    """Make an SSH key without a passphrase."""
    command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def edit(path: Path, change: Callable[[Any], None], *, seal: bool = False) -> None:
    """Change the content of a JSON file, and compute the checksum of a manifest again."""
    content = json.loads(path.read_text())
    change(content)
    if seal:
        content["checksum"] = "0" * 64
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    if seal:
        digest = hashlib.sha256(text.encode()).hexdigest()
        text = text.replace(f'"checksum": "{"0" * 64}', f'"checksum": "{digest}', 1)
    write(path, text.encode())


def write(path: Path, content: bytes) -> None:
    """Replace a file that may be read-only."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def alter(folder: Path, change: Callable[[ParameterSet], ParameterSet]) -> None:
    """Change the numbers of a set and seal it again: a whole set, with right checksums."""
    before = load(copied(folder))
    after = change(before)
    again = with_blobs(after.manifest, after.constant, after.table, before.score, before.rich)
    for path in folder.iterdir():
        path.unlink()
    again.save(folder)


def scaled(parameters: ParameterSet) -> ParameterSet:
    """Return a set whose magnet table is 1 % larger."""
    return replace(parameters, table=np.asarray(parameters.table * np.float32(1.01)))


def copied(folder: Path) -> Path:
    """Copy a set out of its registry, where nobody compares it with a log."""
    target = folder.parent.parent / "out"
    rmtree(target, ignore_errors=True)
    return copytree(folder, target)


def sign_all(folder: Path, key: Path, *, kept: int = 0, without: int | None = None) -> None:
    """Write the log again from what is in the registry, and sign it, as somebody with a key can.

    The first `kept` entries stay as they are; entry `without` is left out.
    """
    entries = [json.loads((path / "entry.json").read_text()) for path in sorted((folder / "log").iterdir())]
    events = []
    for entry in entries[kept:]:
        version, time = entry["set"], entry["time"]
        if entry["number"] == without or not (folder / version).is_dir():
            continue
        if entry["kind"] == "withdrawn":
            events.append(withdrawn(version, entry["reason"], time))
        else:
            events.append(published(folder, version, folder / version, 2, time))
    append(folder, key, events, kept=kept)


def append(folder: Path, key: Path, events: list[dict[str, Any]], *, kept: int) -> None:
    """Put signed entries after the first `kept` entries of a log, and name the key if no key is named."""
    for path in sorted((folder / "log").iterdir())[kept:]:
        rmtree(path)
    hashes = [
        hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted((folder / "log").glob("*/entry.json"))
    ]
    if not hashes:
        rmtree(folder / "log")
    staging = folder.parent / "staging"
    staging.mkdir()
    # Of the entries that stay only their number and the last hash matter here.
    stage(Log(folder, (None,) * len(hashes), tuple(hashes)), events, key, staging)  # type: ignore[arg-type]
    install(staging, folder)
    rmtree(staging)
