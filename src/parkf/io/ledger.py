"""The ledger of a run: what each of its products is, and what it was made of.

``results/<run>/ledger.jsonl`` has a line of JSON for each stage that has ended. Its last line about a product
counts; earlier lines are about products that it replaced. One function writes these lines
(:func:`parkf.stages.run.run_stage`), and whoever asks about a product reads them.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from parkf.io.files import existing, sha256
from parkf.io.fingerprints.meaning import meaning_of

RESULTS = Path("results")
"""Folder of all runs."""
FILE = "ledger.jsonl"
Stamp = Sequence[int]


@dataclass(frozen=True)
class Entry:
    """A stage that has ended; paths are relative to the working folder."""

    key: str  # digest of all that decides the products' bytes; the store has them by it
    stage: str
    outputs: Mapping[str, str]  # SHA-256 of each product
    inputs: Mapping[str, str]  # :func:`fingerprint` of each file that it has read
    code: str  # key of its code (:mod:`parkf.io.fingerprints.code_key`)
    values: Mapping[str, Any]  # its other arguments
    environment: Mapping[str, str]
    stamps: Mapping[str, Stamp] = field(default_factory=dict)  # :func:`stamp_of` each product
    taken_from: str = ""  # the run that had made the same products; empty where the stage has worked
    began: float = 0.0  # seconds since 1970
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    threads: int = 1

    @classmethod
    def read(cls, line: str) -> Self | None:
        """Read a line of a ledger; None if a kill has cut it, or if it is of another format."""
        with suppress(ValueError, TypeError):
            return cls(**json.loads(line))
        return None


class Ledger:
    """The ledger of the run in a folder ``results/<run>``."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.path = run / FILE

    def append(self, entry: Entry) -> None:
        """Add an entry; a line is written whole or, if this process is killed, cut and never read."""
        self.run.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            # The lock ends as soon as this process closes the file, also where it has opened it twice.
            fcntl.lockf(file, fcntl.LOCK_EX)
            begin = b""
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                # A cut line of a killed writer ends here.
                begin = b"" if file.read(1) == b"\n" else b"\n"
            file.write(begin + json.dumps(asdict(entry), ensure_ascii=True).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def entries(self) -> Iterator[Entry]:
        """Yield all entries, oldest first."""
        if self.path.is_file():
            with self.path.open(encoding="utf-8", errors="replace") as file:
                yield from (entry for line in file if (entry := Entry.read(line)) is not None)

    def latest(self) -> dict[str, Entry]:
        """Return the entry that made each product, by path, in the order in which they were made."""
        found: dict[str, Entry] = {}
        for entry in self.entries():
            for path in entry.outputs:
                found.pop(path, None)
                found[path] = entry
        return found

    def note_seen(self, stamps: Mapping[str, Stamp]) -> None:
        """Note new stamps of products whose content was read, and is what the ledger says."""
        if stamps:
            self.append(Entry("", "", {}, {}, "", {}, {}, stamps))

    def stamps(self) -> dict[str, Stamp]:
        """Return the newest stamp of each product, by path."""
        return {path: stamp for entry in self.entries() for path, stamp in entry.stamps.items()}


def doubt(path: Path) -> None:
    """Let the next check of a product's run read the product, of which a reader says that it is damaged."""
    name = here(path.absolute())
    run = run_of(name)
    # The reader's message is what matters; the ledger may be read-only.
    with suppress(OSError):
        if run is not None and str(name) in Ledger(run).stamps():
            Ledger(run).note_seen({str(name): []})


def find(key: str) -> Iterator[Entry]:
    """Yield the entries of all runs here whose products have this key, the newest of each run first."""
    sought = f'{{"key": "{key}"'.encode()
    for path in sorted(RESULTS.glob(f"*/{FILE}")):
        lines = [line for line in path.read_bytes().splitlines() if line.startswith(sought)]
        yield from (one for line in reversed(lines) if (one := Entry.read(line.decode())) is not None)


@contextmanager
def being_made(key: str) -> Iterator[None]:
    """Let other processes that make the same products wait, so that they take these.

    The operating system locks a range of one file, and frees it when this process ends, for any reason.
    """
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / ".lock").open("ab") as file:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, int(key[:15], 16))
        yield


def run_of(path: Path) -> Path | None:
    """Return ``results/<run>`` of a file in it, or None."""
    inside = path.is_relative_to(RESULTS) and len(path.parts) > len(RESULTS.parts) + 1
    return Path(*path.parts[: len(RESULTS.parts) + 1]) if inside else None


def here(name: str | Path) -> Path:
    """Return a path relative to the working folder, with links resolved."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        return Path(os.path.relpath(path.resolve(), Path.cwd()))
    return path


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a product, or of what a user's document means."""
    return content_of(path) if run_of(here(path)) else meaning_of(path)


def content_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of all files in a folder."""
    if not path.is_dir():
        return sha256(existing(path))
    # Snakemake marks its folders with a hidden file.
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    parts = [f"{file.relative_to(path)} {sha256(file)}" for file in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def stamp_of(path: Path) -> list[int]:
    """Return what changes whenever a file's content does: size, times of change in ns, and number."""
    state = path.stat()
    # The times of a folder do not depend on the content of its files.
    folder = [file.stat().st_ctime_ns for file in sorted(path.rglob("*"))] if path.is_dir() else []
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, *folder]
