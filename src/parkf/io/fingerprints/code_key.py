"""Keys of code: digests of the source files that can change what modules compute.

A module uses what it imports from the package, and files that it names. A package uses the data in its
folder, and a compiled module its CMake file, its C++, and the Python that generates headers.
"""

import hashlib
import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import accumulate
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.io.fingerprints.meaning import meaning_of
from parkf.io.fingerprints.source_text import KINDS, built_by, what_counts
from parkf.io.project import IS_CHECKOUT, PROJECT

PACKAGE = Path(__file__).parents[2]
# A file may change twice within the resolution of its times: later changes than this, ns, are not cached.
SETTLED = time.time_ns() - 2_000_000_000
_NO_DATA = (*KINDS, ".pyi", ".so", ".typed")


@cache
def code_key(*modules: str) -> str:
    """Return the key of modules such as ``"parkf.training.train"``: 16 hexadecimal digits, computed once.

    Comments, docstrings and formatting do not count. A wheel has one key, that of all its files. A ParkfError
    reports a module that does not exist.
    """
    known, name = _known(), " ".join(modules)
    if name not in known:
        parts = (f"{os.path.relpath(path, PROJECT)} {_read(path)[0]}" for path in _files(*modules))
        known[name] = _digest(parts)[:16]
        # A home that cannot be written does not matter.
        with suppress(OSError, ParkfError, RuntimeError):
            if max(of.st_ctime_ns for of in _sources().values()) < SETTLED:
                write_sealed(_cache_file(), {"state": _state(_sources()), "keys": known})
    return known[name]


def sources_state() -> str:
    """Return a digest of paths, sizes, times and inodes of all code, which any writing of a file changes."""
    return _state(_stats("src/kernel", "params/layouts"))


@cache
def _sources() -> dict[Path, os.stat_result]:
    return _stats("src/kernel", "params/layouts", "workflow", "data")


def _stats(*parts: str) -> dict[Path, os.stat_result]:
    """Find the files of the package and of parts of the project, without Python's and editors' own ones."""
    walks = (walk for top in (PACKAGE, *map(PROJECT.joinpath, parts)) for walk in os.walk(top))
    paths = (Path(top, name) for top, _, names in walks for name in names if name[0] != ".")
    return {path: path.stat() for path in paths if path.suffix != ".pyc" and path.is_file()}


def _state(stats: dict[Path, os.stat_result]) -> str:
    return _digest(
        f"{path} {of.st_size} {of.st_mtime_ns} {of.st_ctime_ns} {of.st_ino}" for path, of in stats.items()
    )


@cache
def _known() -> dict[str, str]:
    """Read the keys of earlier processes, unless a source has changed since."""
    with suppress(OSError, ParkfError, RuntimeError, LookupError, TypeError):
        content = read_json(_cache_file())
        if content["state"] == _state(_sources()):
            return dict(content["keys"])
    return {}


def _cache_file() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    folder = folder if folder.is_absolute() else Path("~/.cache").expanduser()
    return folder / f"parkf/code-{_digest([sys.version, str(PACKAGE)])[:16]}.json"


def _files(*modules: str) -> set[Path]:
    """Find the files in the key of modules."""
    if missing := sorted(set(modules) - _modules().keys()):
        raise ParkfError(f"{missing[0]}: no such module in {PACKAGE}; correct the name")
    found, new = set[Path](), set[Path]().union(*map(_named, modules))
    while new:
        found |= new
        new = set[Path]().union(*map(_uses, new)) - found
    return found if IS_CHECKOUT else set(_sources())


def _named(name: str) -> set[Path]:
    """Find the file of a module, or of the module of an object, and those of the packages around it."""
    names = accumulate(name.split("."), "{}.{}".format)
    return {_modules()[one] for one in names if one in _modules()}


@cache
def _modules() -> dict[str, Path]:
    """Find the files of all modules; that of a compiled one is its CMake file."""
    inner = {path: path.relative_to(PACKAGE.parent).with_suffix("") for path in PACKAGE.rglob("*.py")}
    found = {".".join(one.parts).removesuffix(".__init__"): path for path, one in inner.items()}
    for path in PROJECT.glob("src/kernel/*/*.cmake"):
        found |= {f"{PACKAGE.name}.{name}": path for name in built_by(path.read_text())}
    return found


@cache
def _uses(path: Path) -> set[Path]:
    """Find the files that a file names, and those that count with it."""
    names, found = _read(path)[1], set[Path]()
    for name in names:
        if "/" in name or name.endswith(KINDS):
            places = (path.parent / name, PROJECT / "src/kernel" / name, *PROJECT.glob(name))
            found.update(*({place, *place.rglob("*")} for place in places))
    if path.suffix == ".cmake":
        found |= {one for one in path.parents[1].glob("*/*.cmake") if one not in _modules().values()}
    if path.name == "__init__.py":
        # Data in a folder below belong to this package, unless the folder is a package.
        data = (one for one in path.parent.rglob("*") if one.suffix not in _NO_DATA)
        inits = {one: (top / path.name for top in one.parents) for one in data}
        found |= {one for one in inits if next(filter(Path.is_file, inits[one])) == path}
    return (found & _sources().keys()).union(*map(_named, names))


@cache
def _read(path: Path) -> tuple[str, list[str]]:
    """Return a digest of what counts in a file, and names in it."""
    if not IS_CHECKOUT or path.suffix not in KINDS:
        return meaning_of(path), []
    text, names = what_counts(path.read_text(), path.suffix)
    return _digest([text]), names


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()
