"""Change source texts: either a constant, or only what cannot change a result."""

import ast
import gc
import re
import shutil
from pathlib import Path

from parkf.io.fingerprints import code
from parkf.io.fingerprints.code import Sources
from parkf.io.project import PROJECT

PACKAGE = Path(code.__file__).parents[2]
KERNEL = PROJECT / "src/kernel"


class Copy:
    """A copy of the package's sources that may be changed."""

    def __init__(self, folder):
        self.package = folder / "src/parkf"
        self.project = folder
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(PACKAGE, self.package, ignore=ignored)
        shutil.copytree(KERNEL, folder / "src/kernel")
        for name in ("workflow", "data", "params/layouts"):
            shutil.copytree(PROJECT / name, folder / name)

    def sources(self):
        return Sources(self.package, self.project, "parkf.cli.main")

    def codes(self, *commands):
        sources = self.sources()
        # None of the many small objects is garbage, and a search for garbage doubles the time. Afterwards all
        # are, and go without a search once the sources, which they refer to, have let go of them.
        gc.disable()
        try:
            return {name: sources.code_of(name) for name in commands or sources.commands}
        finally:
            vars(sources).clear()
            gc.enable()

    def codes_with(self, path, text, *commands):
        """Fingerprints of commands with another text in a file."""
        before = path.read_text()
        try:
            path.write_text(text)
            return self.codes(*commands)
        finally:
            path.write_text(before)

    def edits(self, file):
        """Possible changes of a module of the package."""
        return Edits((self.package / file).read_text())


class Edits:
    """Possible changes of a module.

    Parameters
    ----------
    text : str
    """

    def __init__(self, text):
        self.tree = ast.parse(text)

    def functions(self):
        """Functions by their first line, decorators included, which is the line that code objects report."""
        return {
            min([tree.lineno, *(one.lineno for one in tree.decorator_list)]): tree
            for tree in ast.walk(self.tree)
            if isinstance(tree, ast.FunctionDef)
        }

    def constants(self, tree):
        """Constants whose change may change the statement's effect; texts for people are left out."""
        if isinstance(tree, ast.FunctionDef):
            for one in (*tree.body, *tree.args.defaults, *(one for one in tree.args.kw_defaults if one)):
                yield from self.constants(one)
        elif isinstance(tree, ast.Constant):
            if isinstance(tree.value, str | int | float):
                yield tree
        elif isinstance(tree, ast.AnnAssign):
            if tree.value:
                yield from self.constants(tree.value)
        elif not _is_for_people(tree):
            for one in ast.iter_child_nodes(tree):
                yield from self.constants(one)

    def changed(self, constant):
        """Text with another value of one constant."""
        value = constant.value
        constant.value = (
            not value if isinstance(value, bool) else f"{value}x" if isinstance(value, str) else value + 1
        )
        text = ast.unparse(self.tree)
        constant.value = value
        return text

    def with_one_more(self, function):
        """Text with an additional constant in a function that has none."""
        function.body.insert(0, ast.parse("more = 1").body[0])
        text = ast.unparse(self.tree)
        del function.body[0]
        return text


def _is_for_people(tree):
    if isinstance(tree, ast.Expr):
        call = tree.value
        is_said = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "say"
        return isinstance(call, ast.Constant) or is_said
    return isinstance(tree, ast.Raise | ast.Assert)


def rewritten(text):
    """Python text with other comments, docstrings and layout."""
    tree = ast.parse(text)
    for one in ast.walk(tree):
        if (
            isinstance(one, ast.Module | ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(one) is not None
        ):
            one.body[0].value = ast.Constant("Another text.")
    lines = ast.unparse(tree).splitlines()
    return (
        "# A comment.\n\n"
        + "\n".join(line if line.endswith("\\") else f"{line}  # why" for line in lines)
        + "\n"
    )


def commented(text):
    """C++ text with more comments and other whitespace."""
    return "// A comment.\n/* Another\n one. */\n" + re.sub(r"(?<!\\)\n(?!#)", "\n\n  ", text)
