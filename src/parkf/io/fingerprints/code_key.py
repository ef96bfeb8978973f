"""Keys of code: digests of the sources that modules compute with: all that they import, name or include."""

import ast
import hashlib
import os
import re
import sys
import time
from contextlib import suppress
from functools import cache
from itertools import accumulate
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.io.fingerprints.meaning import meaning_of
from parkf.io.project import IS_CHECKOUT, PROJECT

PACKAGE = Path(__file__).parents[2]
# A file may change twice within the resolution of its times: later changes than this, ns, are not cached.
SETTLED = time.time_ns() - 2_000_000_000
_COMMENTS = {".cmake": r"#[^\n]*"} | dict.fromkeys((".hpp", ".cpp", ".cu"), r"//[^\n]*|/\*.*?\*/")
_NO_DATA = (".py", *_COMMENTS, ".pyi", ".so", ".typed")
_IN_CPP = re.compile(r'(?m)^# ?include "([^"]+)|(src/kernel/[\w/${}]+\.cpp|params/\w+)|(?<=-m )([\w.]+)')
_IN_PYTHON = re.compile(r"\w\('(\w+(?:\.\w+)+)'|'((?:workflow|data)/[\w./-]+|\w[\w/-]*\.(?:hpp|cpp|cu))'")


@cache
def code_key(*modules: str) -> str:
    """Return the key of modules such as ``"parkf.io.files"``; a ParkfError if one does not exist.

    Comments, docstrings and formatting do not count. All modules of a wheel have the same key.
    """
    (path, state, known), name = _cached(), " ".join(modules)
    if name not in known:
        files = _files(*modules)
        known[name] = _digest(*(f"{os.path.relpath(one, PROJECT)} {_read(one)[0]}" for one in files))[:16]
        # A home that cannot be written does not matter.
        with suppress(OSError, ParkfError):
            if max(one.stat().st_ctime_ns for one in files) < SETTLED:
                write_sealed(path, {"state": state, "keys": known})
    return known[name]


@cache
def _cached() -> tuple[Path, str, dict[str, str]]:
    """Return the file of keys, the state of the sources, and the keys that were found in this state."""
    home, other = (os.environ.get(name, "") for name in ("HOME", "XDG_CACHE_HOME"))
    name = f"parkf/code-{_digest(sys.version, str(PACKAGE))[:16]}.json"
    path, state = Path(home or os.devnull, ".cache", other, name), sources_state("workflow", "data")
    with suppress(OSError, ParkfError, LookupError, TypeError):
        content = read_json(path)
        return path, state, content["keys"] if content["state"] == state else {}
    return path, state, {}


def sources_state(*more: str) -> str:
    """Return a digest of paths, sizes, times and inodes of all code, which any writing of a file changes."""
    tops = (PACKAGE, *(PROJECT / one for one in ("src/kernel", "params/layouts", *more)))
    stats = {path: path.stat() for top in tops for path in _below(top)}
    facts = ((str(path), of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino) for path, of in stats.items())
    return _digest(*map(str, facts))


def _below(top: Path) -> set[Path]:
    """Find the files in a folder, without Python's and editors' own ones."""
    files = (Path(place, name) for place, _, names in os.walk(top) for name in names if name[0] != ".")
    return {path for path in files if path.suffix != ".pyc" and path.is_file()}


def _digest(*lines: str) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


@cache
def _modules() -> dict[str, Path]:
    """Find the files of all modules; that of a compiled one is its CMake file."""
    found = {
        str(path.relative_to(PACKAGE.parent))[:-3].replace("/", "."): path for path in PACKAGE.rglob("*.py")
    }
    for path in PROJECT.glob("src/kernel/*/*.cmake"):
        built = re.findall(r"add_kernel_module\((\w+)", path.read_text())
        found |= {f"{PACKAGE.name}.{name}": path for name in built}
    return {name.removesuffix(".__init__"): path for name, path in found.items()}


def _named(name: str) -> set[Path]:
    """Find the file of a module, or of the module of an object, and those of the packages around it."""
    return {_modules()[one] for one in accumulate(name.split("."), "{}.{}".format) if one in _modules()}


def _files(*modules: str) -> set[Path]:
    """Find the files in the key of modules."""
    if missing := sorted({*modules} - _modules().keys()):
        raise ParkfError(f"{missing[0]}: no such module in {PACKAGE}; correct the name")
    found, new = set[Path](), set[Path]().union(*map(_named, modules))
    while new:
        found, new = found | new, set[Path]().union(*(_read(path)[1] for path in new)) - found - new
    return found if IS_CHECKOUT else _below(PACKAGE)


@cache
def _read(path: Path) -> tuple[str, set[Path]]:
    """Return a digest of what counts in a file, and the files that it uses."""
    if not IS_CHECKOUT or path.suffix not in (".py", *_COMMENTS):
        return meaning_of(path), set()
    text, used = path.read_text(), set[Path]()
    if path.suffix == ".py":
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
                node.body = []
            for part in (one for one in vars(node).values() if isinstance(one, list)):
                # A statement that is a constant documents what is beside it.
                part[:] = [x for x in part if type(x) is not ast.Expr or type(x.value) is not ast.Constant]
        text = ast.unparse(tree)
        names = [found[0] or found[1] for found in _IN_PYTHON.findall(text)]
        imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
        names += [f"{getattr(of, 'module', '')}.{one.name}".lstrip(".") for of in imports for one in of.names]
    else:
        # The end of a line counts, as it ends a line of the preprocessor.
        gap = rf"""(?s)("(?:\\.|[^"\\])*"|'(?:\\.|.)')|(?:\s|{_COMMENTS[path.suffix]})+"""
        text = re.sub(gap, lambda found: found[1] or ("\n" if "\n" in found[0] else " "), text).strip()
        parts = re.compile(r"\$\{\w+\}")
        names = [one or parts.sub("*", file) or f"{run}.__main__" for one, file, run in _IN_CPP.findall(text)]
    for name in names:
        if "/" in name or name.endswith((*_COMMENTS,)):
            for place in (path.parent / name, PROJECT / "src/kernel" / name, *PROJECT.glob(name)):
                used |= {place, *_below(place)}
    if path.suffix == ".cmake":
        used |= {*path.parents[1].glob("*/*.cmake")} - {*_modules().values()}
    if path.name == "__init__.py":
        # Data belong to the innermost package around them.
        data = (one for one in _below(path.parent) if one.suffix not in _NO_DATA)
        inits = {one: (top / path.name for top in one.parents) for one in data}
        used |= {one for one in inits if next(filter(Path.exists, inits[one])) == path}
    return _digest(text), {one for one in used if one.is_file()}.union(*map(_named, names))
