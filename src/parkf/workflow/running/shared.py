"""Store of products that several runs have in common, by the fingerprint of all that decides them.

An entry of the store is a folder, named by the fingerprint. It has the files that a job made, and
``entry.json``, which lists what decided them. The files are hard links to those of the run that made them, so
that the store needs no space. Other runs copy them, and compare each copy with its checksum.
"""

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.files import out_of_space, read_json, replacing, sha256, write_sealed
from parkf.io.fingerprints.environment import environment
from parkf.io.fingerprints.meaning import meaning_of

STORE = Path("results/.shared")
_ENTRY = "entry.json"
_LONGEST_NAME = 255
_CODE = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class SharedJob:
    """A job whose products other runs may copy."""

    store: Path
    # ``results/<run>``.
    run: str
    # Fingerprint of the command's code, from :func:`parkf.io.fingerprints.code.code_of`.
    code: str
    # Fingerprints of all else that decides its products beside code, inputs and arguments.
    deciding_too: tuple[str, ...]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    # Arguments of `parkf`.
    command: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a job without a command, code or product, and one that reads a file that is no input."""
        if not self.command or self.command[0].startswith("-"):
            raise ParkfError(
                f"share: got {' '.join(self.command[:1]) or 'nothing'}, expected a command of parkf"
            )
        name = self.command[0]
        if not _CODE.fullmatch(self.code):
            raise ParkfError(
                f"share: {name}: got {self.code!r} for the fingerprint of its code, expected 16 hexadecimal "
                "digits; call parkf.io.fingerprints.code.code_of in the rule"
            )
        if not self.outputs:
            raise ParkfError(f"share: {name}: no outputs; nothing can be shared")
        known = {*self.inputs, *self.outputs}
        for word in self.command[1:]:
            # Other arguments may be longer than the name of a file can be.
            if len(word) < _LONGEST_NAME and Path(word) not in known and Path(word).is_file():
                raise ParkfError(
                    f"share: {name}: reads {word}, which is no input of the rule; other runs would get the "
                    "products of another file"
                )

    def deciding(self, fingerprint: Callable[[Path], str] = sha256) -> dict[str, Any]:
        """Collect all that decides the bytes of the outputs; the names of the run and of inputs do not.

        `fingerprint` is called for each input that a job has made; users' documents count by their meaning.
        """
        products = Path(self.run).parent
        return {
            "command": self.command[0],
            "arguments": self._arguments(),
            "code": self.code,
            "fingerprints": list(self.deciding_too),
            "inputs": [
                fingerprint(path) if path.is_relative_to(products) else meaning_of(path)
                for path in self.inputs
            ],
            "outputs": [self._anywhere(str(path)) for path in self.outputs],
            "environment": environment(),
        }

    def _arguments(self) -> list[str]:
        """Arguments of the command, with numbers in place of the inputs' names."""
        names = {str(path): f"input {number}" for number, path in enumerate(self.inputs)}
        arguments = []
        words = iter(self.command[1:])
        for word in words:
            if word == "--threads":
                # No result depends on it.
                next(words, None)
            else:
                arguments.append(names.get(word) or self._anywhere(word))
        return arguments

    def _anywhere(self, text: str) -> str:
        return re.sub(rf"{re.escape(self.run)}(/|(?![\w.+-]))", "", text)


@dataclass(frozen=True)
class Entry:
    """Entry of the store: the run that made it, its time, and its files' checksums in the job's order."""

    made_by: str
    wall_s: float
    fingerprints: tuple[str, ...]


def key(deciding: dict[str, Any]) -> str:
    """Return the name of an entry: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:32]


def find(store: Path, name: str) -> Entry | None:
    """Return an entry, or None if there is none that can be read."""
    try:
        record = read_json(store / name / _ENTRY)
        fingerprints = tuple(file["sha256"] for file in record["files"])
        return Entry(record["made_by"], record["wall_s"], fingerprints)
    except (ParkfError, OSError, KeyError, TypeError):
        return None


def take(job: SharedJob, name: str) -> Entry | None:
    """Copy an entry's files to the paths of a job's outputs, all of them or none.

    Returns
    -------
    Entry or None
        None where there is no such entry, or it is damaged: then it is removed.
    """
    folder = job.store / name
    if not folder.is_dir():
        return None
    entry = find(job.store, name)
    try:
        if entry is None or len(entry.fingerprints) != len(job.outputs):
            raise ParkfError(f"{_ENTRY} cannot be read")
        with ExitStack() as all_or_none:
            for number, output in enumerate(job.outputs):
                temporary = all_or_none.enter_context(replacing(output))
                kept = _file(folder, number, output)
                shutil.copyfile(kept, temporary)
                if sha256(temporary) != entry.fingerprints[number]:
                    raise ParkfError(f"{kept.name} does not have the checksum that was written")
    except (ParkfError, OSError) as error:
        if isinstance(error, OSError) and out_of_space(error):
            raise
        _say(f"{folder}: damaged: {error}; removed, and made again")
        _remove(folder)
        return None
    return entry


def keep(job: SharedJob, name: str, deciding: dict[str, Any], wall_s: float) -> None:
    """Put the outputs of a job that has ended well into the store, complete or not at all.

    Parameters
    ----------
    job : SharedJob
        Its result stands, whatever goes wrong here.
    name : str
        From :func:`key` of `deciding`.
    deciding : dict
        From :meth:`SharedJob.deciding`.
    wall_s : float
        Time that the job took, s.
    """
    staging: Path | None = None
    try:
        job.store.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=job.store))
        files = []
        for number, output in enumerate(job.outputs):
            os.link(output, _file(staging, number, output))
            files.append({"sha256": sha256(output), "bytes": output.stat().st_size})
        record = {"made_by": job.run, "wall_s": round(wall_s, 3), "files": files, "deciding": deciding}
        write_sealed(staging / _ENTRY, record)
        staging.chmod(0o755)
        staging.rename(job.store / name)
    except OSError as error:
        # Another run may have stored the entry first, or the file system may not have hard links.
        if not (job.store / name).is_dir():
            _say(f"not shared with other runs: {error}")
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)


def tidy(store: Path = STORE) -> int:
    """Remove entries whose files no run has any more; return their number."""
    orphans = [folder for folder in _folders(store) if not any(_linked(path) for path in folder.iterdir())]
    for folder in orphans:
        _remove(folder)
    return len(orphans)


def empty(store: Path = STORE) -> int:
    """Remove all entries, and return their number; runs keep their files."""
    folders = list(_folders(store))
    for folder in folders:
        _remove(folder)
    return len(folders)


def listed(store: Path = STORE) -> Iterator[tuple[str, str, int, int]]:
    """List the entries: command, run that made it, bytes, and bytes that no run has any more."""
    for folder in _folders(store):
        if (folder / _ENTRY).is_file() and (entry := find(store, folder.name)) is not None:
            command = str(read_json(folder / _ENTRY)["deciding"]["command"])
            files = [path.stat() for path in folder.iterdir() if path.name != _ENTRY]
            alone = sum(one.st_size for one in files if one.st_nlink == 1)
            yield command, entry.made_by, sum(one.st_size for one in files), alone


def _folders(store: Path) -> Iterator[Path]:
    if store.is_dir():
        yield from sorted(path for path in store.iterdir() if path.is_dir())


def _linked(path: Path) -> bool:
    return path.name != _ENTRY and path.stat().st_nlink > 1


def _file(folder: Path, number: int, output: Path) -> Path:
    # The name keeps its ending, from which `parkf verify` knows how to read the file.
    return folder / f"{number}-{output.name}"


def _remove(folder: Path) -> None:
    # Rename the entry first, so that another process finds it complete or not at all.
    with suppress(OSError):
        gone = Path(tempfile.mkdtemp(prefix=".gone.", dir=folder.parent))
        folder.rename(gone / "entry")
        shutil.rmtree(gone, ignore_errors=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
