"""A module as its syntax tree: statements, each with a normal form and the names that it uses.

Comments, formatting and docstrings are not part of a normal form. Neither are annotations that nothing
evaluates, help texts of the command line, and texts that are printed on the error stream. Texts of raised
errors are kept apart, because they count only where an error is caught and its text is used.
"""

import ast
import builtins
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple, TypeGuard

_HELP = {"help", "metavar", "rich_help_panel", "short_help", "epilog"}
_TYPER = {"Option", "Argument", "Typer"}
# Fields of a tree that have no meaning, or that older versions of Python lack.
_FIELDS_LEFT_OUT = {"ctx", "type_comment", "kind", "type_params"}
# Classes that a handler may name for all errors; the first one is for handlers that name no class.
_ANY_ERROR = ("*", "Exception", "BaseException")
# Attributes that read an error's text though no handler names it; attributes of an error that are no text.
_ERROR_READERS = {"exc_info", "format_exc", "exception"}
_NO_TEXT = {"errno", "filename", "line", "lineno"}
# Decorators that do not look at annotations.
_INDIFFERENT = {
    *("property", "staticmethod", "classmethod", "contextmanager"),
    *("cache", "cached_property", "lru_cache"),
}
_FILE_OR_MODULE = re.compile(r"[\w+-]*[./][\w./+-]*")
_WORD = re.compile(r"[^\W\d]\w*")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Target(NamedTuple):
    """What an import binds: a module, or a name of one; the name ``*`` stands for all of the module."""

    module: str
    name: str | None = None


class _Form(ast.NodeVisitor):
    """Normal form of a statement, and what the statement uses."""

    def __init__(self, tree: ast.stmt, package: str, *, evaluated: bool) -> None:
        # Names, each with the attribute that is read of it; None where the whole object is used.
        self.uses: set[tuple[str, str | None]] = set()
        self.imports: dict[str, list[Target]] = defaultdict(list)  # those inside, by the names that they bind
        self.texts: set[str] = set()  # texts that may name a file, a folder or a module
        self.classes: set[str] = set()  # classes that the statement defines, and their bases
        # Classes of errors that it raises with a text, and of errors whose text it uses outside messages.
        self.raised: set[str] = set()
        self.read_errors: set[str] = set()
        self._text: list[str] = []
        self._errors: list[str] = []
        self._package = package
        self._evaluated = evaluated
        self._in_class = False
        # 1 in a statement that raises an error or prints for people, 2 in its call, 3 in calls inside that.
        self._for_people = 0
        self._caught: dict[str, set[str]] = {}  # classes of errors by the names that handlers gave them
        self.visit(tree)

    @cached_property
    def digest(self) -> str:
        """Digest of what the statement does."""
        return _digest(self._text)

    @cached_property
    def errors(self) -> str:
        """Digest of the errors that it raises, with their texts."""
        return _digest(self._errors)

    def generic_visit(self, tree: ast.AST) -> None:
        """Write the kind of a tree and its fields."""
        self._text.append(type(tree).__name__)
        for name in tree._fields:
            if name not in _FIELDS_LEFT_OUT:
                self._write(getattr(tree, name, None))

    def _write(self, value: object) -> None:
        if isinstance(value, ast.AST):
            self.visit(value)
        elif isinstance(value, list):
            self._text.append("[")
            for one in value:
                self._write(one)
            self._text.append("]")
        else:
            self._text.append(repr(value))

    def _write_without_texts(self, tree: ast.AST, when: bool) -> None:
        self._for_people = int(when)
        self.generic_visit(tree)
        self._for_people = 0

    def _use(self, name: str, attribute: str | None = None) -> None:
        self.uses.add((name, attribute))
        if not self._for_people and attribute not in _NO_TEXT:
            self.read_errors |= self._caught.get(name, set())

    def visit_Name(self, tree: ast.Name) -> None:
        self._use(tree.id)
        self._text.append(tree.id)

    def visit_Attribute(self, tree: ast.Attribute) -> None:
        self._text += ("Attribute", tree.attr)
        if tree.attr in _ERROR_READERS:
            self.read_errors.add(_ANY_ERROR[0])
        if isinstance(tree.value, ast.Name):
            self._use(tree.value.id, tree.attr)
            self._text.append(tree.value.id)
        else:
            self.visit(tree.value)

    def visit_Constant(self, tree: ast.Constant) -> None:
        # Calls inside a message may use their texts for something else.
        if not (self._for_people in (1, 2) and isinstance(tree.value, str)):
            self._text.append(repr(tree.value))
            if _FILE_OR_MODULE.fullmatch(str(tree.value)):
                self.texts.add(str(tree.value))

    def visit_Import(self, tree: ast.Import | ast.ImportFrom) -> None:
        for alias, target in imported(tree, self._package):
            self.imports[alias].append(target)
            self._text += ("import", alias, target.module, target.name or "")

    def visit_ImportFrom(self, tree: ast.ImportFrom) -> None:
        self.visit_Import(tree)

    def visit_If(self, tree: ast.If) -> None:
        if not _is_type_checking(tree):
            self.generic_visit(tree)

    def visit_Expr(self, tree: ast.Expr) -> None:
        # A constant is a docstring.
        if not isinstance(tree.value, ast.Constant):
            call = tree.value
            # An exit prints a text on the error stream, too.
            to_stderr = isinstance(call, ast.Call) and (
                last_name(call.func) == "exit"
                or any(one.arg == "file" and last_name(one.value) == "stderr" for one in call.keywords)
            )
            self._write_without_texts(tree, to_stderr)

    def visit_Raise(self, tree: ast.Raise) -> None:
        names = _WORD.findall(ast.unparse(tree.exc.func)) if isinstance(tree.exc, ast.Call) else []
        of_class = any(name.strip("_")[:1].isupper() for name in names)
        if of_class:
            self.raised.update(names)
            self._errors.append(ast.dump(tree))
        # A function that makes an error may use its texts for something else.
        self._write_without_texts(tree, of_class or not names)

    def visit_ExceptHandler(self, tree: ast.ExceptHandler) -> None:
        outside = self._caught
        if tree.name is not None and tree.type is not None:
            kinds = tree.type.elts if isinstance(tree.type, ast.Tuple) else [tree.type]
            # A name in capitals stands for several classes.
            names = {last_name(kind) for kind in kinds}
            self._caught = {**outside, tree.name: {_ANY_ERROR[0] if one.isupper() else one for one in names}}
        self.generic_visit(tree)
        self._caught = outside

    def visit_Call(self, tree: ast.Call) -> None:
        outside = self._for_people
        self._for_people += outside > 0
        name = last_name(tree.func)
        if name == "find_spec" and isinstance(tree.args[0], ast.Constant):
            # find_spec finds a module's file, as if the module were imported and only its `__file__` read.
            module = str(tree.args[0].value)
            self.imports[module].append(Target(module))
            self._use(module, "__file__")
            self._text += (name, module)
        elif name in _TYPER and root(tree.func) in ("typer", name):
            keywords = [one for one in tree.keywords if one.arg not in _HELP]
            self.generic_visit(ast.Call(tree.func, tree.args, keywords))
        else:
            self.generic_visit(tree)
        self._for_people = outside

    def visit_ClassDef(self, tree: ast.ClassDef) -> None:
        self.classes |= {tree.name, *map(last_name, tree.bases)}
        outside, self._in_class = self._in_class, True
        self.generic_visit(tree)
        self._in_class = outside

    def visit_FunctionDef(self, tree: ast.FunctionDef) -> None:
        decorators = [one for one in tree.decorator_list if not is_command(one)]
        outside = self._in_class, self._evaluated
        self._evaluated |= any(root(one) not in _INDIFFERENT for one in tree.decorator_list)
        self._text += ("FunctionDef", tree.name)
        self._write(decorators)
        self.visit(tree.args)
        if tree.returns and self._evaluated:
            self._annotation(tree.returns)
        self._in_class = self._evaluated = False
        self._write(tree.body)
        self._in_class, self._evaluated = outside

    def visit_arg(self, tree: ast.arg) -> None:
        self._text.append(tree.arg)
        if tree.annotation and self._evaluated:
            self._annotation(tree.annotation)

    def visit_AnnAssign(self, tree: ast.AnnAssign) -> None:
        # Dataclasses and models evaluate the annotations in a class.
        if self._in_class:
            self._annotation(tree.annotation)
        if tree.value:
            self.visit(ast.Assign([tree.target], tree.value))
        elif self._in_class:
            self.visit(tree.target)

    def _annotation(self, tree: ast.expr) -> None:
        self.visit(tree)
        for one in ast.walk(tree):
            # Annotations may be quoted.
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                self.uses |= {(name, None) for name in _WORD.findall(one.value)}


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


@dataclass(eq=False)
class Statement:
    """A statement at the top of a module."""

    tree: ast.stmt
    package: str  # where its relative imports begin
    evaluated: bool = False  # whether annotations of its arguments are evaluated, as those of commands are

    @cached_property
    def name(self) -> str:
        """Name that it defines, or its kind."""
        return str(getattr(self.tree, "name", type(self.tree).__name__))

    @cached_property
    def form(self) -> _Form:
        """Normal form of the statement."""
        return _Form(self.tree, self.package, evaluated=self.evaluated)


@dataclass(frozen=True, eq=False)
class Module:
    """A module and its statements."""

    name: str
    package: str  # the module itself where it is a package
    bound: dict[str, list[Statement]]  # by name: the statements that bind it, or change its object
    imports: dict[str, list[Target]]  # by name: what is imported with the module, and binds the name
    effects: list[Statement]  # statements that do more than bind or change names of the module
    every: list[Statement]  # all statements except imports, also those under `if __name__ ==`
    _uses: dict[Statement, list[tuple[str, str | None]]] = field(default_factory=dict, init=False)

    def uses(self, statement: Statement) -> list[tuple[str, str | None]]:
        """Return the names that a statement uses, of the module or imported by itself, with attributes.

        Most names are those of a function's own variables; they are left out.
        """
        if statement not in self._uses:
            form = statement.form
            self._uses[statement] = [
                (name, attribute)
                for name, attribute in form.uses
                if name in self.bound or name in self.imports or name in form.imports or name == "__file__"
            ]
        return self._uses[statement]


@cache
def parsed(text: str, name: str, *, is_package: bool) -> Module:
    """Parse a module."""
    package = name if is_package else name.rpartition(".")[0]
    module = Module(name, package, defaultdict(list), defaultdict(list), [], [])
    body = [tree for tree in ast.parse(text).body if not _has_no_effect(tree)]
    objects = {one for tree in body if not isinstance(tree, _DEFINITIONS) for one in _names_bound(tree)}
    for tree in body:
        if not isinstance(tree, _DEFINITIONS):
            # Imports in a block, as under `with`, are those of the module too.
            for inner in ast.walk(tree):
                if isinstance(inner, ast.Import | ast.ImportFrom):
                    for alias, target in imported(inner, package):
                        module.imports[alias].append(target)
        if isinstance(tree, ast.Import | ast.ImportFrom):
            continue
        statement = Statement(tree, package)
        module.every.append(statement)
        if isinstance(tree, ast.If) and ast.unparse(tree.test).startswith("__name__ =="):
            continue
        changed = _objects_changed(tree)
        concerned = _names_bound(tree) | (changed & objects)
        for one in concerned:
            module.bound[one].append(statement)
        only_concerns = isinstance(tree, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.For)
        if not isinstance(tree, _DEFINITIONS) and not (only_concerns and concerned and changed <= objects):
            module.effects.append(statement)
    return module


def imported(tree: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, Target]]:
    """Iterate over the names that an import binds, and their targets."""
    if isinstance(tree, ast.Import):
        for alias in tree.names:
            # `import a.b` binds a, of which b is read.
            first, _, inner = alias.name.partition(".")
            is_all = inner and not alias.asname
            yield alias.asname or first, Target(alias.name, "*" if is_all else None)
    else:
        base = package.split(".")[: len(package.split(".")) - tree.level + 1] if tree.level else []
        module = ".".join([*base, *([tree.module] if tree.module else [])])
        for alias in tree.names:
            yield alias.asname or alias.name, Target(module, alias.name)


def _has_no_effect(tree: ast.stmt) -> bool:
    """Whether a statement is a text alone, an assertion, or for type checkers."""
    is_text = isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant)
    return is_text or isinstance(tree, ast.Assert) or _is_type_checking(tree)


def _is_type_checking(tree: ast.stmt) -> bool:
    return isinstance(tree, ast.If) and not tree.orelse and last_name(tree.test) == "TYPE_CHECKING"


def _names_bound(tree: ast.stmt) -> set[str]:
    if isinstance(tree, _DEFINITIONS):
        return {tree.name}
    parts: list[ast.AST] = [tree]
    if isinstance(tree, ast.Assign | ast.AnnAssign | ast.AugAssign):
        parts = [*tree.targets] if isinstance(tree, ast.Assign) else [tree.target]
    inner = [one for part in parts for one in ast.walk(part)]
    names = {one.id for one in inner if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    return names | {one.name for one in inner if isinstance(one, _DEFINITIONS)}


def _objects_changed(tree: ast.stmt) -> set[str]:
    """Return the names of the objects that a statement changes; the empty name for objects without one.

    A call of a method changes the method's object, and an assignment to an attribute or an item changes the
    object that has it. A decorator that is a method changes its object: it registers the decorated function.
    """
    if isinstance(tree, _DEFINITIONS):
        return set(map(root, tree.decorator_list))
    changed = set()
    for one in ast.walk(tree):
        if isinstance(one, ast.Expr):
            changed.add(root(one.value))
        elif isinstance(one, ast.Attribute | ast.Subscript) and not isinstance(one.ctx, ast.Load):
            changed.add(root(one))
    return changed


def root(tree: ast.expr) -> str:
    """Return the name that a call, an attribute or an item begins with; empty where it is no name."""
    while isinstance(tree, ast.Attribute | ast.Subscript | ast.Call):
        tree = tree.func if isinstance(tree, ast.Call) else tree.value
    return tree.id if isinstance(tree, ast.Name) else ""


def last_name(tree: ast.AST) -> str:
    """Return a name, or the last name of an attribute; empty for others."""
    return str(getattr(tree, "attr", getattr(tree, "id", "")))


def is_command(tree: ast.expr, *kinds: str) -> TypeGuard[ast.Call]:
    """Whether a decorator makes a function a command of the command line, or its callback."""
    return isinstance(tree, ast.Call) and last_name(tree.func) in (kinds or ("command", "callback"))


def uses_texts_of_errors(forms: Iterable[_Form]) -> bool:
    """Whether statements of a program catch errors that they raise with texts, and use the texts."""
    forms = list(forms)
    caught_by = {*_ANY_ERROR}.union(*(form.classes | form.raised for form in forms))
    for name in list(caught_by):
        known = getattr(builtins, name, None)
        if isinstance(known, type):
            caught_by |= {base.__name__ for base in known.__mro__}
    return any(not caught_by.isdisjoint(form.read_errors) for form in forms)
