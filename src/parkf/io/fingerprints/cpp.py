"""C++ sources of the compiled modules as CMake builds them, without comments and blanks."""

import re
from dataclasses import dataclass
from functools import cache

_INCLUDE = re.compile(r'^#\s*include\s*"([^"]+)"', re.MULTILINE)
_LITERAL = (
    r'R"(?P<delimiter>\w*)\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"|\b\d[\w.\']*|\'(?:\\.|[^\'\\\n])*\''
)
_COMMENT = re.compile(rf"(?P<kept>{_LITERAL})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(
    rf"^[ \t]*#[^\n]*$|{_LITERAL}|[\w.]+|<<=|>>=|->\*?|::|[-+*/%&|^!=<>]=|\+\+|--|&&|\|\||<<|>>|\S",
    re.DOTALL | re.MULTILINE,
)
_CMAKE_COMMENT = re.compile(r'(?P<kept>"(?:\\.|[^"\\])*")|#[^\n]*')
_CMAKE_VARIABLE = re.compile(r"\$\{\w+\}")
_ADDED = re.compile(r"nanobind_add_module\(\s*(\w+)")
_SOURCE = re.compile(r"src/kernel/[\w/.${}-]+")
_RUN = re.compile(r"-m\s+(parkf[\w.]*)")
_DATA = re.compile(r"\$\{PROJECT_SOURCE_DIR\}/(params/[\w/]+)")


@dataclass(frozen=True)
class Build:
    """What a CMake file says of the module that it builds.

    Attributes
    ----------
    modules : tuple of str
        Names of the compiled modules.
    sources : tuple of str
        Patterns of the C++ files that are compiled, relative to the folder of the project.
    generators : tuple of str
        Python modules that are run to write headers.
    data : tuple of str
        Folders of the project that these read.
    """

    modules: tuple[str, ...]
    sources: tuple[str, ...]
    generators: tuple[str, ...]
    data: tuple[str, ...]


@cache
def build(text: str) -> Build:
    """Read what a CMake file builds from its text, as :func:`cmake_text` returns it."""
    patterns = {_CMAKE_VARIABLE.sub("*", one) for one in _SOURCE.findall(text)}
    return Build(
        tuple(_ADDED.findall(text)),
        tuple(sorted(patterns)),
        tuple(_RUN.findall(text)),
        tuple(_DATA.findall(text)),
    )


@cache
def cmake_text(text: str) -> str:
    """Text of a CMake file without comments, with single blanks."""
    return " ".join(_CMAKE_COMMENT.sub(lambda match: match["kept"] or "", text).split())


@cache
def cpp_text(text: str) -> str:
    """Tokens of a C++ file; preprocessor lines stay lines of their own."""
    bare = _COMMENT.sub(lambda match: match["kept"] or " ", text).replace("\\\n", " ")
    tokens = (match.group() for match in _TOKEN.finditer(bare))
    return " ".join(
        f"\n{' '.join(token.split())}\n" if token.lstrip().startswith("#") else token for token in tokens
    )


@cache
def included(text: str) -> tuple[str, ...]:
    """Headers in quotes that a C++ file includes, as :func:`cpp_text` returns it."""
    return tuple(_INCLUDE.findall(text))
