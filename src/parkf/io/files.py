"""Files that readers never see half-written, and their checksums.

Every writer in parkf goes through :func:`replacing`: it writes to a temporary name beside the target and
renames at the end, so a reader finds the old file or the new one, never a mixture. The writer holds a lock on
what is unfinished, so that others can tell it from what a killed writer left.
"""

import errno
import fcntl
import glob
import hashlib
import json
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from parkf.io.documents import json_text
from parkf.io.errors import DamagedFileError, ParkfError

_SEAL, _KIND = "checksum", "sha256:"
UNFINISHED = ".tmp"
"""Suffix of hidden names of files and folders whose writer is still at work, or was killed."""
_SCRATCH = "parkf-"
_LONG_AGO_S = 86_400


@contextmanager
def replacing(path: Path, ending: str | None = None) -> Iterator[Path]:
    """Make the folder of `path`; yield a temporary path in it, which becomes `path` if the block succeeds.

    The file gets the rights that the process gives to new files (umask). Programs choose their reader by the
    `ending` of a name: a path with another one raises a ParkfError.
    """
    if ending is not None and path.suffix != ending:
        hint = " (`parkf export tree` makes ROOT files of tables)" if path.suffix == ".root" else ""
        raise ParkfError(f"{path}: expected a name that ends in {ending}; name the output so{hint}")
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device"
        raise ParkfError(f"{path}: is {what}, expected a file to write; name another one")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary, lock = _begun(path)
    try:
        yield temporary
        # Otherwise, the file may exist without its content after a power cut.
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        # Errors of a full disk seldom name the file.
        if error.filename is None and out_of_space(error):
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
        os.close(lock)


def _begun(path: Path) -> tuple[Path, int]:
    """Make an unfinished file beside `path`; return it and its descriptor, which holds the lock."""
    while True:
        temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}{UNFINISHED}")
        try:
            lock = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            # The temporary name means nothing to users.
            error.filename = str(path)
            raise
        if _is_locked(temporary, lock):
            return temporary, lock
        os.close(lock)


def scratch_folder(inside: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """Make a folder in TMPDIR, or `inside` another one, that is removed when this process ends.

    If the process is killed, the next :func:`remove_unfinished` removes the folder.
    """
    while True:
        prefix = _SCRATCH if inside is None else f".{_SCRATCH}"
        folder = tempfile.TemporaryDirectory(prefix=prefix, suffix=UNFINISHED, dir=inside)
        with suppress(FileNotFoundError):
            lock = os.open(folder.name, os.O_RDONLY)
            weakref.finalize(folder, os.close, lock)
            if _is_locked(Path(folder.name), lock):
                return folder


def _is_locked(new: Path, lock: int) -> bool:
    """Lock a new file or folder; False if another process took it for a leftover before, and removed it."""
    # Not every file system has locks.
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX)
    return new.exists()


def remove_unfinished(folder: Path) -> list[Path]:
    """Remove what ended writers left unfinished, below a folder and in TMPDIR; return what was removed.

    Each writer holds a lock on its file or folder, and the operating system releases the lock when the last
    process with the open file ends. Nothing that is locked is removed. On a file system without locks, only
    what has not changed for a day is removed.
    """
    scratch = Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*{UNFINISHED}")
    return [path for path in (*folder.rglob(f".*{UNFINISHED}"), *scratch) if _is_removed(path)]


def _is_removed(path: Path) -> bool:
    is_folder = path.is_dir()
    try:
        # Some file systems lock only what is open for writing, which a folder cannot be.
        lock = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    except OSError:
        # Its writer has just ended, or it is another user's.
        return False
    try:
        if not _is_left(path, lock):
            return False
        if is_folder:
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        return not path.exists()
    finally:
        os.close(lock)


def _is_left(path: Path, lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        changed = max(one.lstat().st_mtime for one in (path, *path.rglob("*")))
        return time.time() - changed > _LONG_AGO_S
    return True


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def matching(pattern: str | Path, folder: Path | None = None) -> list[Path]:
    """Return the files that a pattern matches, sorted by name; a ParkfError if there is none.

    The pattern is a path, or has ``*``, ``?``, ``[…]``, and ``**`` for folders at any depth. A relative
    pattern starts in `folder`, by default the working folder.
    """
    whole = Path(folder or "", pattern)
    if whole.is_file():
        return [whole]
    found = map(Path, glob.glob(str(whole), recursive=True))  # noqa: PTH207  # absolute patterns
    files = sorted(path for path in found if path.is_file())
    if not files:
        raise ParkfError(f"{whole}: no such file, and none that matches; expected one: correct the name")
    return files


def out_of_space(error: OSError) -> bool:
    """Whether an error reports a full disk; errors of Arrow do so only in their text."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT) or any(
        "No space left on device" in str(part) for part in error.args
    )


def write_text(path: Path, text: str) -> None:
    """Write a file of text."""
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


def write_json(path: Path, content: Any) -> None:
    """Write `content` as sorted, indented JSON; numbers that are not finite are refused by ``json``."""
    write_text(path, json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON as :func:`write_json` does, and add a ``checksum`` that :func:`read_json` checks."""
    write_json(path, {**content, _SEAL: _checksum(content)})


def read_json(path: Path) -> Any:
    """Read a JSON file; a file of :func:`write_sealed` is checked, and returned without the checksum.

    A ParkfError reports a missing file, and a DamagedFileError one that is not JSON, has a key twice, or is
    not what was written.
    """
    try:
        content = json_text.parse(existing(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedFileError(path, "a JSON file", str(error)) from error
    # Other files may have a key of that name too.
    if isinstance(content, dict) and str(content.get(_SEAL)).startswith(_KIND):
        found = content.pop(_SEAL)
        if found != _checksum(content):
            raise DamagedFileError(path, "a JSON file", "the content does not have the checksum that it says")
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    # The checksum does not depend on the layout of the file.
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"{_KIND}{hashlib.sha256(text.encode()).hexdigest()}"


def existing(path: Path) -> Path:
    """Return `path` if the file exists; else raise a ParkfError."""
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or a pipe" if path.exists() else ""
        what = f"no such file, it is {kind}" if kind else "no such file"
        raise ParkfError(f"{path}: {what}; expected a file: correct the name, or make the file first")
    return path


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, 64 hexadecimal digits."""
    with existing(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def require_space(folder: Path, needed: int, what: str) -> None:
    """Raise a ParkfError if the disk of an existing folder has fewer than `needed` bytes free.

    `what` is what needs them, with the setting to change if there is one: "the rows of a.parquet (TMPDIR)".
    """
    free = shutil.disk_usage(folder).free
    if needed > free:
        # Imported here, because disks mostly have space.
        from rich.filesize import decimal as size

        raise ParkfError(
            f"no space left on {folder}: {size(needed - free)} more are needed; {what} takes {size(needed)}"
        )


def copy(source: Path, target: Path) -> None:
    """Copy a file so that `target` appears complete or not at all; ParkfError if the disk is too small."""
    target.parent.mkdir(parents=True, exist_ok=True)
    require_space(target.parent, existing(source).stat().st_size, f"the copy of {source}")
    with replacing(target) as temporary:
        shutil.copyfile(existing(source), temporary)
