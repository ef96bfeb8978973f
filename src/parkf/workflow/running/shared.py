"""Store of products that several runs have in common, by the fingerprint of all that decides them.

An entry of the store is a folder, named by the fingerprint: the files that a job made, and ``entry.json``,
which says what decided them. The files are hard links to those of the run that made them, so that the store
takes no room; who takes them gets copies, each held against its checksum.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from parkf.io.errors import ParkfError
from parkf.io.files import out_of_space, read_json, replacing, sha256, write_sealed
from parkf.io.provenance import environment

STORE = Path("results/.shared")
_ENTRY = "entry.json"
_END = "--"


@dataclass(frozen=True)
class SharedJob:
    """A job whose products other runs may take.

    Attributes
    ----------
    store : Path
    run : str
        ``results/<run>``.
    rules : str
        Fingerprint of the rules' text.
    wildcards, params : tuple of str
        As the rule has them; among the parameters is the fingerprint of the code.
    inputs, outputs : tuple of Path
    command : tuple of str
        Arguments of `parkf`.
    """

    store: Path
    run: str
    rules: str
    wildcards: tuple[str, ...]
    params: tuple[str, ...]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    command: tuple[str, ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """Understand the arguments of `parkf share`: six parts, with -- between them.

        Raises
        ------
        ParkfError
            When these are others.
        """
        parts: list[tuple[str, ...]] = []
        rest = list(words)
        while len(parts) < 5 and _END in rest:
            end = rest.index(_END)
            parts.append(tuple(rest[:end]))
            rest = rest[end + 1 :]
        if len(parts) < 5 or len(parts[0]) != 3 or not rest:
            raise ParkfError(
                "share: expected STORE RUN RULES -- wildcards -- parameters -- inputs -- outputs -- command"
            )
        (store, run, rules), wildcards, params, inputs, outputs = parts
        read, made = tuple(map(Path, inputs)), tuple(map(Path, outputs))
        return cls(Path(store), run, rules, wildcards, params, read, made, tuple(rest))

    def deciding(self, fingerprint: Callable[[Path], str] = sha256) -> dict[str, Any]:
        """Collect all that decides the bytes of the outputs; the name of the run and of inputs do not.

        Parameters
        ----------
        fingerprint : callable
            Of an input's content.
        """
        return {
            "command": self.command[0],
            "rules": self.rules,
            "wildcards": self.wildcards,
            "params": [self._anywhere(param) for param in self.params],
            "inputs": [fingerprint(path) for path in self.inputs],
            "outputs": [self._anywhere(str(path)) for path in self.outputs],
            "environment": environment(),
        }

    def _anywhere(self, text: str) -> str:
        return text.replace(f"{self.run}/", "")


@dataclass(frozen=True)
class Entry:
    """What the store has for a job.

    Attributes
    ----------
    made_by : str
        The run that made it.
    wall_s : float
        What it took then, s.
    fingerprints : tuple of str
        Of its files, in the order of the job's outputs.
    """

    made_by: str
    wall_s: float
    fingerprints: tuple[str, ...]


def key(deciding: dict[str, Any]) -> str:
    """Give the name of an entry: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()[:32]


def find(store: Path, name: str) -> Entry | None:
    """Look an entry up; None where there is none that can be read."""
    try:
        record = read_json(store / name / _ENTRY)
        fingerprints = tuple(file["sha256"] for file in record["files"])
        return Entry(record["made_by"], record["wall_s"], fingerprints)
    except (ParkfError, OSError, KeyError, TypeError):
        return None


def take(job: SharedJob, name: str) -> Entry | None:
    """Copy an entry's files to where a job is to put them; all of them or none.

    Returns
    -------
    Entry or None
        None where there is no such entry, or it is not as it was written: then it is removed.
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
    """Put what a job has made into the store, complete or not at all.

    Parameters
    ----------
    job : SharedJob
        That has ended well; it stays so, whatever goes wrong here.
    name : str
        From :func:`key`.
    deciding : dict
        What the name was made of.
    wall_s : float
        What the job took, s.
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
    """Remove entries whose files no run has any more, so that the store never takes room of its own.

    Returns
    -------
    int
        Entries removed.
    """
    orphans = [folder for folder in _folders(store) if not any(_linked(path) for path in folder.iterdir())]
    for folder in orphans:
        _remove(folder)
    return len(orphans)


def empty(store: Path = STORE) -> int:
    """Remove all entries; runs keep their files. Gives their number."""
    folders = list(_folders(store))
    for folder in folders:
        _remove(folder)
    return len(folders)


def listed(store: Path = STORE) -> Iterator[tuple[str, str, int, int]]:
    """List the entries: command, run that made it, bytes, and bytes that lie nowhere else."""
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
