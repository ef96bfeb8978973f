"""C++ sources of the compiled modules, without comments and spaces, and the CMake files that build them."""

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
_ADDED = re.compile(r"add_kernel_module\(\s*(\w+)")
_SOURCE = re.compile(r"src/kernel/[\w/.${}-]+")
_RUN = re.compile(r"-m\s+(parkf[\w.]*)")
_DATA = re.compile(r"\$\{PROJECT_SOURCE_DIR\}/(params/[\w/]+)")


@dataclass(frozen=True)
class Build:
    """The compiled modules that a CMake file builds."""

    modules: list[str]
    sources: list[str]  # patterns of the C++ files, relative to the folder of the project
    generators: list[str]  # Python modules that write headers
    data: list[str]  # folders of the project that the generators read


def build(text: str) -> Build:
    """Read what a CMake file builds from its text, as :func:`cmake_text` returns it."""
    sources = sorted({_CMAKE_VARIABLE.sub("*", one) for one in _SOURCE.findall(text)})
    return Build(_ADDED.findall(text), sources, _RUN.findall(text), _DATA.findall(text))


def cmake_text(text: str) -> str:
    """Return the text of a CMake file without comments, with single spaces."""
    return " ".join(_CMAKE_COMMENT.sub(lambda match: match["kept"] or "", text).split())


@cache
def cpp_text(text: str) -> str:
    """Return the tokens of a C++ file, separated by spaces; preprocessor lines stay lines."""
    bare = _COMMENT.sub(lambda match: match["kept"] or " ", text).replace("\\\n", " ")
    tokens = (match.group() for match in _TOKEN.finditer(bare))
    return " ".join(
        f"\n{' '.join(token.split())}\n" if token.lstrip().startswith("#") else token for token in tokens
    )


def included(text: str) -> list[str]:
    """Return the headers that a C++ file includes in quotes, from the text of :func:`cpp_text`."""
    return _INCLUDE.findall(text)
