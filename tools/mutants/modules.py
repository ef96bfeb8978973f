"""The possible changes in a Python module, and the import of a changed module instead of the one on disk."""

import ast
import copy
import gc
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tools.mutants.mutant import ROOT, Mutant, numbered

SOURCE = ROOT / "src"

_SWAPS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod,), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip


class _Finder(ast.NodeVisitor):
    """Finds all possible changes in a module and their positions, in a fixed order."""

    def __init__(self) -> None:
        self.found: list[tuple[ast.AST, list[ast.AST], str]] = []
        self._within: list[str] = []

    def generic_visit(self, node: ast.AST) -> None:
        """Look at a node, then at those within it."""
        changes = [one for one in _changes(node) if ast.unparse(one) != ast.unparse(node)]
        if changes:
            self.found.append((node, changes, ".".join(self._within)))
        super().generic_visit(node)

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
        """Leave types alone."""
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leave decorators and types alone."""
        self._within.append(node.name)
        self.visit(node.args)
        for statement in node.body:
            self.visit(statement)
        self._within.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Leave decorators and bases alone."""
        self._within.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._within.pop()


def _changes(node: ast.AST) -> list[ast.AST]:
    """Return the nodes that may replace a node."""
    changed: list[ast.AST] = []
    if isinstance(node, ast.Compare):
        for kind in _SWAPS.get(type(node.ops[0]), ()):
            changed.append(_with(node, ops=[kind(), *node.ops[1:]]))
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)):
        text = any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))
        for kind in () if text else _SWAPS.get(type(node.op), ()):
            changed.append(_with(node, op=kind()))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
        changed.append(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        changed.append(ast.Constant(not node.value))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        changed += [ast.Constant(node.value + 1), *([ast.Constant(node.value - 1)] if node.value > 0 else [])]
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        changed.append(ast.Constant(1.0 if node.value == 0 else 2 * node.value))
    return [ast.copy_location(one, node) for one in changed]


def _with(node: ast.AST, **parts: Any) -> ast.AST:
    changed = copy.copy(node)
    for name, part in parts.items():
        setattr(changed, name, part)
    return changed


def _found(path: Path) -> tuple[ast.Module, list[tuple[Mutant, ast.AST, ast.AST]]]:
    tree = ast.parse(path.read_text())
    finder = _Finder()
    finder.visit(tree)
    pairs = [(node, change, where) for node, changes, where in finder.found for change in changes]
    mutants = numbered(
        Mutant(
            str(path.relative_to(SOURCE)),
            where,
            node.lineno,
            ast.unparse(node)[:100],
            ast.unparse(change)[:100],
        )
        for node, change, where in pairs
    )
    return tree, [(mutant, node, change) for mutant, (node, change, _) in zip(mutants, pairs, strict=True)]


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
