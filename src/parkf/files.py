"""Files that are never seen half-written, and their fingerprints.

Every writer in parkf goes through :func:`replacing`: it writes to a temporary name beside the target and
renames at the end, so a reader finds the old file or the new one, never a mixture.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parkf.errors import ParkfError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block succeeds.

    Parameters
    ----------
    path : Path
        The file to write. Its folder is made when missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write `content` as sorted, indented JSON; numbers that are not finite are refused by ``json``."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises
    ------
    ParkfError
        When the file is missing or not JSON.
    """
    try:
        return json.loads(existing(path).read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ParkfError(f"{path}: not a JSON file: {error}") from error


def existing(path: Path) -> Path:
    """Return `path` if a file lies there.

    Raises
    ------
    ParkfError
        When it does not.
    """
    if not path.is_file():
        raise ParkfError(f"{path}: no such file")
    return path


def sha256(path: Path) -> str:
    """Fingerprint of a file's bytes, as 64 hexadecimal digits."""
    with existing(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def copy(source: Path, target: Path) -> None:
    """Copy a file so that `target` appears complete or not at all."""
    with replacing(target) as temporary:
        shutil.copyfile(existing(source), temporary)
