"""What counts in a source file of Python, C++ or CMake, and the names in it of modules and files."""

import ast
import re

_CPP = (".hpp", ".cpp", ".cu")
_COMMENT = {".cmake": r"#[^\n]*", **dict.fromkeys(_CPP, r"//[^\n]*|/\*.*?\*/")}
KINDS = (".py", *_COMMENT)
"""Suffixes of source files."""
_LITERAL = r'(?s)(R"(?P<end>\w*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\])*"|\b\d[\w.\']*|\'(?:\\.|[^\'\\\n])*\')'
_IN_CMAKE = re.compile(r"src/kernel/[\w/${}]+\.cpp|params/\w+|(?<=-m )[\w.]+")
_IN_CPP = re.compile(r'^# ?include "([^"]+)"', re.MULTILINE)
_MODULE = re.compile(r"\w+(\.\w+)+")
_FILE = re.compile(r"(workflow|data)/[\w./-]+|\w[\w/-]*\.(hpp|cpp|cu)")


def what_counts(text: str, kind: str) -> tuple[str, list[str]]:
    """Return a source without comments, docstrings and formatting, and names of what it uses.

    `kind` is one of :data:`KINDS`. Names are those of modules or of their objects, such as
    ``parkf.io.errors.ParkfError``, also of other packages, and paths with a ``/`` or a suffix of C++. A
    SyntaxError reports Python that is none.
    """
    if kind == ".py":
        return _python(text)
    bare = re.sub(f"{_LITERAL}|{_COMMENT[kind]}", lambda found: found[1] or " ", text)
    # The end of a line counts, as it ends a line of the preprocessor.
    bare = re.sub(rf"{_LITERAL}|\s*(\n)\s*|\s+", lambda found: found[1] or found[3] or " ", bare).strip()
    if kind != ".cmake":
        return bare, _IN_CPP.findall(bare)
    names = [re.sub(r"\$\{\w+\}", "*", name) for name in _IN_CMAKE.findall(bare)]
    return bare, [name if "/" in name else f"{name}.__main__" for name in names]


def built_by(text: str) -> list[str]:
    """Return the names of the modules that a CMake file builds."""
    return re.findall(r"add_kernel_module\((\w+)", text)


def _python(text: str) -> tuple[str, list[str]]:
    tree = ast.parse(text)
    names: list[str] = []
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        match node:
            case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                node.body = []
            case ast.Import():
                names += [one.name for one in node.names]
            case ast.ImportFrom():
                names += [f"{node.module}.{one.name}" for one in node.names]
            case ast.Call(args=[ast.Constant(str(value)), *_]) if _MODULE.fullmatch(value):
                names.append(value)
            case ast.Constant(str(value)) if _FILE.fullmatch(value):
                names.append(value)
        for part in vars(node).values():
            if isinstance(part, list):
                # A statement that is a constant documents what is beside it.
                part[:] = [one for one in part if not _is_constant(one)]
        todo += ast.iter_child_nodes(node)
    return ast.dump(tree), names


def _is_constant(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
