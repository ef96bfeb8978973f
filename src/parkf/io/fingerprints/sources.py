"""State of the sources: what any writing of a file of code changes."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from parkf.io.project import PROJECT

PACKAGE = Path(__file__).parents[2]


def sources_state(*more: str) -> str:
    """Return a digest of paths, sizes, times and inodes of all code, and of `more` folders of the project."""
    tops = (PACKAGE, *(PROJECT / one for one in ("src/kernel", "params/layouts", *more)))
    stats = ((path, path.stat()) for top in tops for path in files_below(top))
    return digest(f"{path} {of.st_size} {of.st_mtime_ns} {of.st_ctime_ns} {of.st_ino}" for path, of in stats)


def digest(lines: Iterable[str]) -> str:
    """Return the SHA-256 of lines in any order, 64 hexadecimal digits."""
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def files_below(top: Path) -> set[Path]:
    """Find the files in a folder, without Python's and editors' own ones."""
    return {path for path in top.rglob("[!.]*") if path.suffix != ".pyc" and path.is_file()}
