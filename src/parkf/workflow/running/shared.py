"""Store of products that runs share, by the fingerprint of everything that decides the products.

An entry of the store is a folder, named by the fingerprint. It has the files that a job made, and
``entry.json``, which lists what decided them. The files are hard links to the files of the run that made
them, so the store needs no additional space. Other runs copy them, and compare each copy with its checksum.

If jobs have copies of products, ``entry.json`` is alone and tells the paths of the files in the run that made
them; :mod:`parkf.workflow.running.storage` fetches them from there.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.files import out_of_space, read_json, replacing, sha256, write_sealed
from parkf.io.terminal import say
from parkf.workflow.running.jobs import RESULTS, Job, located

STORE = RESULTS / ".shared"
_ENTRY = "entry.json"


@dataclass(frozen=True)
class Entry:
    """Entry of the store."""

    command: str
    made_by: str  # ``results/<run>``
    wall_s: float
    fingerprints: tuple[str, ...]  # SHA-256 of its files, in the order of the job's outputs
    away: tuple[str, ...] = ()  # paths in the run that made its files, if the store does not have them


def key(deciding: dict[str, Any]) -> str:
    """Return the name of an entry, 32 hexadecimal digits, from :meth:`Job.decided_by`."""
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:32]


def find(name: str) -> Entry | None:
    """Return an entry, or None if there is none that can be read."""
    try:
        record = read_json(STORE / name / _ENTRY)
        fingerprints = tuple(file["sha256"] for file in record["files"])
        command, away = record["deciding"]["command"], tuple(record.get("away", ()))
        return Entry(command, record["made_by"], record["wall_s"], fingerprints, away)
    except (ParkfError, OSError, KeyError, TypeError):
        return None


def take(job: Job, name: str) -> Entry | None:
    """Copy an entry's files to the paths of a job's outputs, all of them or none.

    Returns the entry, or None if it is missing or damaged; a damaged entry is removed. Files that the store
    does not have must have been fetched into the place of the outputs, or else the entry counts as missing.
    """
    folder = STORE / name
    if not folder.is_dir():
        return None
    entry = find(name)
    if entry is not None and entry.away and not all(located(output).exists() for output in job.outputs):
        return None
    try:
        if entry is None or len(entry.fingerprints) != len(job.outputs):
            raise ParkfError(f"{_ENTRY} cannot be read")
        with ExitStack() as all_or_none:
            for number, output in enumerate(job.outputs):
                temporary = all_or_none.enter_context(replacing(located(output)))
                kept = located(output) if entry.away else folder / _file_name(number, output)
                shutil.copyfile(kept, temporary)
                if sha256(temporary) != entry.fingerprints[number]:
                    raise ParkfError(f"{kept.name} does not have the checksum that was written")
    except (ParkfError, OSError) as error:
        if isinstance(error, OSError) and out_of_space(error):
            raise
        say(f"{folder}: damaged: {error}; removed, and made again", file=sys.stderr)
        remove([folder])
        return None
    return entry


def keep(job: Job, deciding: dict[str, Any], products: Mapping[str, str], wall_s: float) -> None:
    """Put the outputs of a successful job into the store, all of them or none.

    `deciding` is from :meth:`Job.decided_by`, `products` has the SHA-256 of each output, and the job took
    `wall_s`, s. Errors here do not affect the result of the job.
    """
    name = key(deciding)
    staging: Path | None = None
    try:
        STORE.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=STORE))
        files = []
        outputs = list(map(located, job.outputs))
        away = [path for path, output in zip(job.outputs, outputs, strict=True) if Path(path) != output]
        for number, (output, made) in enumerate(zip(outputs, products.values(), strict=True)):
            if not away:
                os.link(output, staging / _file_name(number, output))
            files.append({"sha256": made, "bytes": output.stat().st_size})
        record = {"made_by": job.run, "wall_s": round(wall_s, 3), "files": files, "deciding": deciding}
        record |= {"away": away} if away else {}
        write_sealed(staging / _ENTRY, record)
        staging.chmod(0o755)
        staging.rename(STORE / name)
    except OSError as error:
        # Another run may have stored the entry first, or the file system may not have hard links.
        if not (STORE / name).is_dir():
            say(f"not shared with other runs: {error}", file=sys.stderr)
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)


def tidy() -> int:
    """Remove entries whose files no run has any more; return their number."""
    return remove([one for one in _folders() if not _is_needed(one)])


def _is_needed(folder: Path) -> bool:
    entry = find(folder.name)
    if entry is not None and entry.away:
        return Path(entry.made_by).is_dir()
    return any(file.st_nlink > 1 for file in _products(folder))


def empty() -> int:
    """Remove all entries, and return their number; runs keep their files."""
    return remove(_folders())


def listed() -> Iterator[tuple[str, str, int, int]]:
    """List the entries: command, run that made the files, bytes, and bytes that no run has any more."""
    for folder in _folders():
        if (entry := find(folder.name)) is not None:
            files = _products(folder)
            alone = sum(file.st_size for file in files if file.st_nlink == 1)
            yield entry.command, entry.made_by, sum(file.st_size for file in files), alone


def _folders() -> list[Path]:
    return sorted(path for path in STORE.iterdir() if path.is_dir()) if STORE.is_dir() else []


def _products(folder: Path) -> list[os.stat_result]:
    return [path.stat() for path in folder.iterdir() if path.name != _ENTRY]


def _file_name(number: int, output: str | Path) -> str:
    # The name keeps its ending, because `parkf verify` chooses the reader of a file by its ending.
    return f"{number}-{Path(output).name}"


def remove(entries: Sequence[Path]) -> int:
    """Remove entries, of which the folders are given; return their number."""
    for folder in entries:
        # Rename the entry first, so that another process finds it complete or not at all.
        with suppress(OSError):
            gone = Path(tempfile.mkdtemp(prefix=".gone.", dir=folder.parent))
            folder.rename(gone / "entry")
            shutil.rmtree(gone, ignore_errors=True)
    return len(entries)
