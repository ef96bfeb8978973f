"""Keys of code: digests of the sources that modules compute with: all that they import, name or include."""

import ast
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, sha256, write_sealed
from parkf.io.fingerprints.meaning import meaning_of
from parkf.io.fingerprints.sources import PACKAGE, digest, files_below, sources_state
from parkf.io.project import IS_CHECKOUT, PROJECT

_COMMENTS = {".cmake": r"#[^\n]*"} | dict.fromkeys((".hpp", ".cpp", ".cu"), r"//[^\n]*|/\*.*?\*/")
_IN_CPP = re.compile(r'(?m)^# ?include "([^"]+)|(src/kernel/[\w/*]+\.cpp|params/\w+)|(?<=-m )([\w.]+)')
_IN_PYTHON = re.compile(
    r"(?:args=\[Constant\(value|alias\(name)='(\w+(?:\.\w+)+)'"
    r"|='((?:workflow|data)/[\w./-]+|[\w/-]+\.(?:[hc]pp|cu))'"
)
# A statement that is a text documents what is beside it.
_DOCUMENTS = re.compile(r"""Expr\(value=Constant\(value=('([^'\\]|\\.)*'|"([^"\\]|\\.)*")\)\)(, )?""")


@cache
def code_key(*modules: str) -> str:
    """Return the key of modules such as ``"parkf.io.files"``; all modules of a wheel have the same one.

    Comments, docstrings and formatting do not count.
    """
    if not IS_CHECKOUT:
        return digest(f"{one.relative_to(PACKAGE)} {sha256(one)}" for one in files_below(PACKAGE))[:16]
    (state, keys), name = _kept(), " ".join(modules)
    if name not in keys:
        used, new = set[Path](), set[Path]().union(*map(_files_of, modules))
        while new:
            used, new = used | new, set[Path]().union(*(_read(one)[1] for one in new)) - used - new
        keys[name] = digest(f"{one.relative_to(PROJECT)} {_read(one)[0]}" for one in used)[:16]
        # A folder that cannot be written does not matter.
        with suppress(OSError, ParkfError):
            write_sealed(PROJECT / "build/code_keys.json", {"state": state, "keys": keys})
    return keys[name]


@cache
def _kept() -> tuple[str, dict[str, str]]:
    """Return the state of the sources, and the keys that are known in it."""
    state = sources_state("workflow", "data")
    with suppress(OSError, ParkfError, LookupError, TypeError):
        kept = read_json(PROJECT / "build/code_keys.json")
        return state, kept["keys"] if kept["state"] == state else {}
    return state, {}


def _files_of(name: str) -> set[Path]:
    """Find the file of a module, or of the module of an object, and those of the packages around it."""
    if name.startswith(f"{PACKAGE.name}._"):
        call = f"add_kernel_module({name.split('.')[1]} "
        return {one for one in PROJECT.glob("src/kernel/*/*.cmake") if call in one.read_text("utf-8")}
    place = PACKAGE.parent / name.replace(".", "/")
    inside = {place, *place.parents} - {*PACKAGE.parents}
    return {
        *filter(Path.is_file, (one for top in inside for one in (Path(f"{top}.py"), top / "__init__.py")))
    }


@cache
def _read(path: Path) -> tuple[str, set[Path]]:
    """Return a digest of what counts in a file, and the files that it uses."""
    if path.suffix not in (".py", *_COMMENTS):
        return meaning_of(path), set()
    text, used = path.read_text("utf-8"), set[Path]()
    if path.suffix == ".py":
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
                node.body = []
        text = _DOCUMENTS.sub("", ast.dump(tree))
        names = [module or file for module, file in _IN_PYTHON.findall(text)]
        froms = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
        names += [f"{of.module}.{one.name}" for of in froms for one in of.names]
    else:
        # The end of a line counts, as it ends a line of the preprocessor.
        gap = rf"""(?s)("(?:\\.|[^"\\])*"|'(?:\\.|.)')|(?:\s|{_COMMENTS[path.suffix]})+"""
        text = re.sub(gap, lambda found: found[1] or ("\n" if "\n" in found[0] else " "), text).strip()
        found = _IN_CPP.findall(re.sub(r"\$\{\w+\}", "*", text))
        names = [one or file or f"{run}.__main__" for one, file, run in found]
    if path.suffix == ".cmake":
        used |= {
            one for one in path.parents[1].glob("*/*.cmake") if "_module(_" not in one.read_text("utf-8")
        }
    if path.name == "__init__.py" and path.parent != PACKAGE:
        # Data belong to the innermost package around them.
        tops = {one: one.parent for one in files_below(path.parent) if one.suffix != ".py"}
        used |= {one for one in tops if tops[one] == path.parent or not (tops[one] / path.name).exists()}
    for name in names:
        used |= _files_of(name)
        for place in (path.parent / name, PROJECT / "src/kernel" / name, *PROJECT.glob(name)):
            used |= {place, *files_below(place)}
    return digest([text]), {*filter(Path.is_file, used)}
