"""A module as its syntax tree: statements, each with a digest of what it does and the names that it uses.

Comments, formatting and docstrings are not part of a digest. Neither are annotations that nothing evaluates,
help texts of the command line, and texts that are printed on the error stream. Texts of raised errors have a
digest of their own, because they count only where an error is caught and its text is used.
"""

import ast
import builtins
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, cast

_HELP = {"help", "metavar", "rich_help_panel", "short_help", "epilog"}
_TYPER = {"Option", "Argument", "Typer"}
# Fields of a tree that have no meaning, or that older versions of Python lack.
_FIELDS_LEFT_OUT = {"ctx", "type_comment", "kind", "type_params"}
ANY_ERROR = "*"
# Attributes that read the text of an error where no handler names it, and those of an error that are no text.
_ERROR_READERS = {"exc_info", "format_exc", "exception"}
_NO_TEXT = {"errno", "filename", "line", "lineno"}
# Decorators that do not look at annotations.
_INDIFFERENT = {
    "property",
    "staticmethod",
    "classmethod",
    "contextmanager",
    "cache",
    "cached_property",
    "lru_cache",
}
_FILE_OR_MODULE = re.compile(r"[\w+-]*[./][\w./+-]*")


@dataclass(frozen=True)
class Target:
    """What an import binds: a module, or a name of one."""

    module: str
    name: str | None = None


@dataclass
class Form:
    """Normal form of a statement: its text, and the names and texts that it uses."""

    text: list[str] = field(default_factory=list)
    # Texts of the errors that it raises.
    errors: list[str] = field(default_factory=list)
    # Names, each with the attribute that is read of it; None where the whole object is used.
    uses: set[tuple[str, str | None]] = field(default_factory=set)
    # Texts that may name a file, a folder or a module.
    texts: set[str] = field(default_factory=set)
    # Modules that `find_spec` searches.
    located: set[str] = field(default_factory=set)
    # Imports inside the statement, with the names that they bind.
    imports: list[tuple[str, Target]] = field(default_factory=list)
    # Classes that it defines, with their bases.
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Classes of errors that it raises with a text, and of those that it catches to use the text in anything
    # but another error.
    raised: set[str] = field(default_factory=set)
    read_errors: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Statement:
    """A statement at the top of a module."""

    tree: ast.stmt
    # Package that relative imports in it begin from.
    package: str
    # Whether annotations of its arguments are evaluated, as those of commands are.
    evaluated: bool = False

    @cached_property
    def name(self) -> str:
        """Name that it defines, or its kind."""
        return str(getattr(self.tree, "name", type(self.tree).__name__))

    @cached_property
    def form(self) -> Form:
        """Normal form of the statement."""
        writer = _Writer(self.package, evaluated=self.evaluated)
        writer.put(self.tree)
        return writer.form

    @cached_property
    def digest(self) -> str:
        """Digest of what it does."""
        return hashlib.sha256("\0".join(self.form.text).encode()).hexdigest()

    @cached_property
    def errors(self) -> str:
        """Digest of the texts of the errors that it raises."""
        return hashlib.sha256("\0".join(self.form.errors).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Module:
    """A module and its statements."""

    name: str
    # The module itself where it is a package.
    package: str
    # Statements that bind a name, or change the object of a name, by the name.
    bound: dict[str, list[Statement]]
    imports: dict[str, Target]
    # Modules and names that the module imports when it is imported, in order.
    loaded: tuple[Target, ...]
    # Statements that do more than bind or change names of the module.
    effects: tuple[Statement, ...]
    # All statements but imports, with those that run only where the module is the program.
    every: tuple[Statement, ...]


@cache
def parsed(text: str, name: str, *, is_package: bool) -> Module:
    """Parse a module."""
    package = name if is_package else name.rpartition(".")[0]
    bound: dict[str, list[Statement]] = {}
    imports: dict[str, Target] = {}
    loaded: list[Target] = []
    effects, every = [], []
    body = [tree for tree in ast.parse(text).body if not _has_no_effect(tree)]
    own = {target for tree in body for target in _names_bound(tree)}
    for tree in body:
        if isinstance(tree, ast.Import | ast.ImportFrom):
            for alias, target in imported(tree, package):
                imports[alias] = target
                loaded.append(target)
            continue
        statement = Statement(tree, package)
        every.append(statement)
        if _is_main_block(tree):
            continue
        names = _names_bound(tree)
        changed = _changed(tree, own)
        if changed is None or (not names and not changed):
            effects.append(statement)
        for one in {*names, *(changed or ())}:
            bound.setdefault(one, []).append(statement)
        # Imports in a block, as under `with`, are those of the module too.
        if not isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for inner in ast.walk(tree):
                if isinstance(inner, ast.Import | ast.ImportFrom):
                    for alias, target in imported(inner, package):
                        imports[alias] = target
                        loaded.append(target)
    return Module(name, package, bound, imports, tuple(loaded), tuple(effects), tuple(every))


def imported(tree: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, Target]]:
    """Iterate over the names that an import binds, and their targets."""
    if isinstance(tree, ast.Import):
        for alias in tree.names:
            # `import a.b` binds a; what is used of it is b as well.
            yield alias.asname or alias.name.partition(".")[0], Target(alias.name)
    else:
        base = package.split(".")[: len(package.split(".")) - tree.level + 1] if tree.level else []
        module = ".".join([*base, *([tree.module] if tree.module else [])])
        for alias in tree.names:
            yield alias.asname or alias.name, Target(module, alias.name)


def _has_no_effect(tree: ast.stmt) -> bool:
    """Whether a statement is a text alone, an assertion, or for type checkers."""
    if isinstance(tree, ast.Expr):
        return isinstance(tree.value, ast.Constant)
    return isinstance(tree, ast.Pass | ast.Assert) or _is_type_checking(tree)


def _is_type_checking(tree: ast.stmt) -> bool:
    return isinstance(tree, ast.If) and not tree.orelse and _last_name(tree.test) == "TYPE_CHECKING"


def _is_main_block(tree: ast.stmt) -> bool:
    return (
        isinstance(tree, ast.If)
        and isinstance(tree.test, ast.Compare)
        and isinstance(tree.test.left, ast.Name)
        and tree.test.left.id == "__name__"
    )


def _names_bound(tree: ast.stmt) -> set[str]:
    if isinstance(tree, ast.Assign) and all(isinstance(one, ast.Name) for one in tree.targets):
        return {one.id for one in tree.targets if isinstance(one, ast.Name)}
    if isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {tree.name}
    if isinstance(tree, ast.Import | ast.ImportFrom):
        return set()
    names = {
        one.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store | ast.Del)
    }
    if not isinstance(tree, ast.Assign | ast.AnnAssign | ast.AugAssign):
        # Blocks bind what the statements in them bind.
        for inner in ast.iter_child_nodes(tree):
            if isinstance(inner, ast.stmt):
                names |= _names_bound(inner)
    return names


def _changed(tree: ast.stmt, own: set[str]) -> set[str] | None:
    """Return the names of the module whose objects a statement changes; None where it may change others.

    A call of a method changes the method's object, and an assignment to an attribute or an item changes the
    object that has it. A decorator that is a method changes its object: it registers the decorated function.
    """
    if isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        roots = {_root(one) for one in tree.decorator_list if isinstance(one, ast.Call | ast.Attribute)}
        return {root for root in roots if root in own}
    if isinstance(tree, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = tree.targets if isinstance(tree, ast.Assign) else [tree.target]
        parts = {
            _root(one)
            for target in targets
            for one in ast.walk(target)
            if isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store | ast.Del)
        }
    elif isinstance(tree, ast.Expr):
        parts = {_root(tree.value.func)} if isinstance(tree.value, ast.Call) else {""}
    elif isinstance(tree, ast.For):
        inner = [_changed(one, own) for one in tree.body + tree.orelse]
        return None if any(one is None for one in inner) else {name for one in inner if one for name in one}
    else:
        return None
    return {part for part in parts if part} if parts <= own else None


def _root(tree: ast.expr) -> str:
    while isinstance(tree, ast.Attribute | ast.Subscript | ast.Call):
        tree = tree.func if isinstance(tree, ast.Call) else tree.value
    return tree.id if isinstance(tree, ast.Name) else ""


def _last_name(tree: ast.expr) -> str:
    if isinstance(tree, ast.Attribute):
        return tree.attr
    return tree.id if isinstance(tree, ast.Name) else ""


def is_command(decorator: ast.expr, *kinds: str) -> bool:
    """Whether a decorator makes a function a command of the command line, or its callback."""
    return isinstance(decorator, ast.Call) and _last_name(decorator.func) in (
        kinds or ("command", "callback")
    )


class _Writer:
    """Writes the normal form of a tree."""

    def __init__(self, package: str, *, evaluated: bool) -> None:
        self.form = Form()
        self._text = self.form.text
        self._package = package
        # Whether annotations of the outermost function are evaluated.
        self._evaluated = evaluated
        self._in_class = False

    def put(self, value: object) -> None:
        """Write a tree, a list of trees or another value."""
        kind = type(value)
        special = _SPECIAL.get(kind)
        if special is not None:
            special(self, value)
        elif kind is list:
            self._text.append("[")
            for one in cast(list[object], value):
                self.put(one)
            self._text.append("]")
        elif isinstance(value, ast.AST):
            self._fields(value)
        else:
            self._text.append(repr(value))

    def _fields(self, tree: ast.AST) -> None:
        kind: Any = type(tree)
        self._text.append(kind.__name__)
        for name in _fields_of(kind):
            self.put(getattr(tree, name, None))

    def _name(self, tree: ast.Name) -> None:
        self.form.uses.add((tree.id, None))
        self._text.append(tree.id)

    def _attribute(self, tree: ast.Attribute) -> None:
        self._text += ("Attribute", tree.attr)
        if tree.attr in _ERROR_READERS:
            self.form.read_errors.add(ANY_ERROR)
        if isinstance(tree.value, ast.Name):
            self.form.uses.add((tree.value.id, tree.attr))
            self._text.append(tree.value.id)
        else:
            self.put(tree.value)

    def _constant(self, tree: ast.Constant) -> None:
        self._text.append(repr(tree.value))
        if isinstance(tree.value, str) and _FILE_OR_MODULE.fullmatch(tree.value):
            self.form.texts.add(tree.value)

    def _import(self, tree: ast.Import | ast.ImportFrom) -> None:
        for alias, target in imported(tree, self._package):
            self.form.imports.append((alias, target))
            self._text += ("import", alias, target.module, target.name or "")

    def _if(self, tree: ast.If) -> None:
        if not _is_type_checking(tree):
            self._fields(tree)

    def _expression(self, tree: ast.Expr) -> None:
        if isinstance(tree.value, ast.Constant):
            # A docstring.
            return
        if isinstance(tree.value, ast.Call) and _is_print_to_stderr(tree.value):
            self._message(tree.value, [])
        else:
            self._fields(tree)

    def _raise(self, tree: ast.Raise) -> None:
        self._text.append("Raise")
        if isinstance(tree.exc, ast.Call) and (kind := _class_called(tree.exc)):
            self.form.raised.add(kind)
            self._message(tree.exc, self.form.errors)
        else:
            self.put(tree.exc)
        self.put(tree.cause)

    def _message(self, call: ast.Call, said: list[str]) -> None:
        """Write a call without the texts among its arguments."""
        self.put(call.func)
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            self._without_text(argument, said)
            self._text.append(",")

    def _without_text(self, tree: ast.expr, said: list[str]) -> None:
        match tree:
            case ast.Constant(value=str(text)):
                said.append(text)
            case ast.JoinedStr(values=parts):
                for part in parts:
                    self._without_text(part, said)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                self._without_text(left, said)
                self._without_text(right, said)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.put(test)
                self._without_text(body, said)
                self._without_text(orelse, said)
            case _:
                said.append("{}")
                self.put(tree)

    def _handler(self, tree: ast.ExceptHandler) -> None:
        if tree.name is not None and any(_reads(tree.name, one) for one in tree.body):
            kinds = tree.type.elts if isinstance(tree.type, ast.Tuple) else [tree.type]
            self.form.read_errors |= {_last_name(kind) for kind in kinds if kind is not None}
        self._fields(tree)

    def _call(self, tree: ast.Call) -> None:
        name = _last_name(tree.func)
        if name == "find_spec" and tree.args and isinstance(tree.args[0], ast.Constant):
            self.form.located.add(str(tree.args[0].value))
            self._text += (name, str(tree.args[0].value))
        elif name in _TYPER and _root(tree.func) in ("typer", name):
            self.put(tree.func)
            self.put(tree.args)
            self.put([one for one in tree.keywords if one.arg not in _HELP])
        else:
            self._fields(tree)

    def _class(self, tree: ast.ClassDef) -> None:
        outside, self._in_class = self._in_class, True
        self._fields(tree)
        self._in_class = outside
        self.form.classes[tree.name] = tuple(map(_last_name, tree.bases))

    def _function(self, tree: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorators = [one for one in tree.decorator_list if not is_command(one)]
        evaluated = (
            self._evaluated
            or len(decorators) < len(tree.decorator_list)
            or any(_root(one) not in _INDIFFERENT for one in decorators)
        )
        outside = self._in_class, self._evaluated
        self._in_class = self._evaluated = False
        self._text += (type(tree).__name__, tree.name)
        self.put(decorators)
        of = tree.args
        self._text.append(f"{len(of.posonlyargs)} {len(of.args)} {len(of.kwonlyargs)}")
        for one in (*of.posonlyargs, *of.args, of.vararg, *of.kwonlyargs, of.kwarg):
            self._text.append(one.arg if one else "")
            if one and one.annotation and evaluated:
                self._annotation(one.annotation)
        self.put(of.defaults)
        self.put(of.kw_defaults)
        if tree.returns and evaluated:
            self._annotation(tree.returns)
        self.put(tree.body)
        self._in_class, self._evaluated = outside

    def _annotated(self, tree: ast.AnnAssign) -> None:
        if self._in_class:
            # Fields of dataclasses and models.
            self._text.append("AnnAssign")
            self.put(tree.target)
            self._annotation(tree.annotation)
            self.put(tree.value)
        elif tree.value is not None:
            self._text += ("Assign", "[")
            self.put(tree.target)
            self._text.append("]")
            self.put(tree.value)

    def _annotation(self, tree: ast.expr) -> None:
        self.put(tree)
        for one in ast.walk(tree):
            # Annotations may be quoted.
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                self.form.uses |= {(name, None) for name in re.findall(r"[^\W\d]\w*", one.value)}


@cache
def _fields_of(kind: Any) -> tuple[str, ...]:
    return tuple(name for name in kind._fields if name not in _FIELDS_LEFT_OUT)


_SPECIAL: Mapping[type, Callable[[_Writer, Any], None]] = {
    ast.Name: _Writer._name,
    ast.Attribute: _Writer._attribute,
    ast.Constant: _Writer._constant,
    ast.Call: _Writer._call,
    ast.Expr: _Writer._expression,
    ast.If: _Writer._if,
    ast.Raise: _Writer._raise,
    ast.ExceptHandler: _Writer._handler,
    ast.Import: _Writer._import,
    ast.ImportFrom: _Writer._import,
    ast.AnnAssign: _Writer._annotated,
    ast.ClassDef: _Writer._class,
    ast.FunctionDef: _Writer._function,
    ast.AsyncFunctionDef: _Writer._function,
}


def _class_called(call: ast.Call) -> str:
    """Return the name of the class whose constructor or method is called; empty for functions."""
    parts = ast.unparse(call.func).split(".")
    return next((part for part in reversed(parts) if part.strip("_")[:1].isupper()), "")


def _is_print_to_stderr(call: ast.Call) -> bool:
    return _last_name(call.func) == "print" and any(
        one.arg == "file" and isinstance(one.value, ast.Attribute) and one.value.attr == "stderr"
        for one in call.keywords
    )


def _reads(name: str, tree: ast.AST) -> bool:
    """Whether a tree uses the text of a caught error, except in another error or on the error stream."""
    if isinstance(tree, ast.Raise):
        return False
    if isinstance(tree, ast.Call) and (_is_print_to_stderr(tree) or _last_name(tree.func) == "exit"):
        return False
    if isinstance(tree, ast.Attribute) and tree.attr in _NO_TEXT:
        return False
    if isinstance(tree, ast.Name):
        return tree.id == name
    return any(_reads(name, inner) for inner in ast.iter_child_nodes(tree))


def may_catch(caught: str, raised: str, bases: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a handler of the class `caught` may catch a raised class; `bases` are those of a program."""
    if not (caught in bases or isinstance(getattr(builtins, caught, None), type)) and caught != raised:
        # A class of another package catches only its own; a name in capitals stands for several classes.
        return caught == ANY_ERROR or caught.isupper()
    todo = [raised]
    while todo:
        one = todo.pop()
        if one == caught:
            return True
        known = getattr(builtins, one, None)
        if one in bases:
            todo += bases[one]
        else:
            todo += [
                base.__name__
                for base in (known.__mro__[1:] if isinstance(known, type) else (Exception, BaseException))
            ]
    return False


def commands_in(module: Module) -> Iterator[tuple[str, str, str]]:
    """Iterate over the commands that a module adds: names of application, command and function."""
    for one in module.every:
        tree = one.tree
        if isinstance(tree, ast.FunctionDef):
            for decorator in tree.decorator_list:
                if is_command(decorator, "command"):
                    yield _root(decorator), _first(decorator) or tree.name.replace("_", "-"), tree.name
        elif (
            isinstance(tree, ast.Expr)
            and isinstance(tree.value, ast.Call)
            and is_command(tree.value.func, "command")
        ):
            function = tree.value.args[0]
            if isinstance(function, ast.Name):
                name = _first(tree.value.func) or function.id.replace("_", "-")
                yield _root(tree.value.func), name, function.id


def groups_in(module: Module) -> Iterator[tuple[str, str, str]]:
    """Iterate over the applications that a module adds to another: module, name there, name of the group."""
    blocks = (one.tree for one in module.every if isinstance(one.tree, ast.Expr | ast.For))
    for tree in blocks:
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and _last_name(call.func) == "add_typer":
                added = call.args[0]
                name = next((key.value for key in call.keywords if key.arg == "name"), None)
                if isinstance(added, ast.Attribute) and isinstance(name, ast.Constant):
                    target = module.imports[_root(added)]
                    yield f"{target.module}.{target.name}", added.attr, str(name.value)


def _first(call: ast.expr) -> str | None:
    """Return the first argument of a call, if it is a text."""
    first = call.args[0] if isinstance(call, ast.Call) and call.args else None
    return str(first.value) if isinstance(first, ast.Constant) else None


def start_of(module: Module) -> list[Statement]:
    """Return the statements of a program that run before a command: of ``main``, and callbacks."""
    found = []
    for one in module.every:
        if isinstance(one.tree, ast.FunctionDef):
            if any(is_command(decorator, "callback") for decorator in one.tree.decorator_list):
                found.append(one)
            if one.tree.name == "main":
                apps = {name for name in module.bound if _is_application(module, name)}
                found += [Statement(tree, module.package) for tree in _before(one.tree.body, apps)]
    return found


def _is_application(module: Module, name: str) -> bool:
    return any(
        isinstance(one.tree, ast.Assign)
        and isinstance(one.tree.value, ast.Call)
        and _last_name(one.tree.value.func) == "Typer"
        for one in module.bound[name]
    )


def _before(body: list[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """Return the statements that run before the first that uses one of these names."""
    found = []
    todo = list(body)
    while todo:
        one = todo.pop(0)
        if isinstance(one, ast.Try):
            todo = [*one.body, *todo]
        elif any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(one)):
            break
        else:
            found.append(one)
    return found
