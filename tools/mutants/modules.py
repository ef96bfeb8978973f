"""The possible changes in a Python module, and the import of a changed module instead of the one on disk."""

import ast
import gc
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tools.mutants.changes import changes, constants
from tools.mutants.mutant import ROOT, Mutant, numbered

SOURCE = ROOT / "src"


class _Finder(ast.NodeVisitor):
    """Finds all possible changes in a module and their positions, in a fixed order."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[tuple[Any, str, ast.AST, str]] = []
        self._within: list[str] = []
        self._functions = 0
        self._names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

    def generic_visit(self, node: ast.AST) -> None:
        """Look at a node, then at those within it."""
        for kind, change in changes(node, self._names):
            self._note(node, kind, change)
        super().generic_visit(node)

    def _note(self, node: Any, kind: str, change: ast.AST) -> None:
        if isinstance(node, ast.comprehension):
            # It has no place in the file of its own.
            node.lineno = node.iter.lineno
        elif not isinstance(node, ast.stmt):
            ast.copy_location(change, node)
        if ast.unparse(change) != ast.unparse(node):
            self.found.append((node, kind, change, ".".join(self._within)))

    def _note_constants(self, value: ast.AST | None) -> None:
        """Look at numbers that a module or class defines."""
        if value is not None and not self._functions:
            for node in ast.walk(value):
                for change in constants(node):
                    self._note(node, "constant", change)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Look at the value, which may define a constant."""
        self._note_constants(node.value)
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave assertions alone."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave messages alone; only the conditions that lead to them are changed."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts alone."""

    def visit_arguments(self, node: ast.arguments) -> None:
        """Leave types alone."""
        for default in (*node.defaults, *node.kw_defaults):
            if default is not None:
                self.visit(default)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave types alone; the value may define a constant."""
        self._note_constants(node.value)
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leave decorators and types alone."""
        self._within.append(node.name)
        self._functions += 1
        self.visit(node.args)
        for statement in node.body:
            self.visit(statement)
        self._functions -= 1
        self._within.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Leave decorators and bases alone."""
        self._within.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._within.pop()


def _found(path: Path) -> tuple[ast.Module, list[tuple[Mutant, ast.AST, ast.AST]]]:
    tree = ast.parse(path.read_text())
    finder = _Finder(tree)
    finder.visit(tree)
    mutants = numbered(
        Mutant(
            str(path.relative_to(SOURCE)),
            where,
            node.lineno,
            ast.unparse(node)[:100],
            ast.unparse(change)[:100],
            kind,
        )
        for node, kind, change, where in finder.found
    )
    pairs = zip(mutants, finder.found, strict=True)
    return tree, [(mutant, node, change) for mutant, (node, _, change, _) in pairs]


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a module."""
    return [mutant for mutant, _, _ in _found(path)[1]]


def _mutated(mutant: Mutant) -> ast.Module:
    """Return the module's tree with the change."""
    tree, found = _found(SOURCE / mutant.file)
    node, change = next((node, change) for one, node, change in found if one.key == mutant.key)

    class Put(ast.NodeTransformer):
        def visit(self, here: ast.AST) -> Any:
            return change if here is node else self.generic_visit(here)

    return ast.fix_missing_locations(Put().visit(tree))


def change_in_place(mutant: Mutant) -> None:
    """Change the code of an imported module's functions, wherever they are referenced by now.

    Values that importing has computed stay, so this is for changes in functions that importing does not call.
    A module that has not been imported yet is changed when a test imports it.
    """
    substitute = Substitute(mutant.file, mutant)
    if substitute.name not in sys.modules:
        sys.meta_path.insert(0, substitute)
        return
    path = str(SOURCE / mutant.file)
    changed = {}
    pending = [compile(_mutated(mutant), path, "exec")]
    while pending:
        for one in pending.pop().co_consts:
            if isinstance(one, CodeType):
                changed[one.co_qualname, one.co_firstlineno, one.co_name] = one
                pending.append(one)
    for function in [one for one in gc.get_objects() if isinstance(one, FunctionType)]:
        code = function.__code__
        if code.co_filename == path and (code.co_qualname, code.co_firstlineno, code.co_name) in changed:
            function.__code__ = changed[code.co_qualname, code.co_firstlineno, code.co_name]


class Substitute(MetaPathFinder, SourceFileLoader):
    """Imports a module with a change in it, in place of the one on disk; it must not have been imported yet.

    Parameters
    ----------
    file : str
        Path of the module, relative to the folder of sources.
    mutant : Mutant, optional
        The change; by default none.
    """

    def __init__(self, file: str, mutant: Mutant | None = None) -> None:
        name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        super().__init__(name, str(SOURCE / file))
        tree = _mutated(mutant) if mutant else ast.parse(Path(self.path).read_text())
        self._code = compile(tree, self.path, "exec")

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of the changed module; None for any other."""
        if fullname != self.name:
            return None
        places = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return spec_from_file_location(fullname, self.path, loader=self, submodule_search_locations=places)

    def get_code(self, fullname: str) -> Any:
        """Return the compiled code."""
        return self._code
