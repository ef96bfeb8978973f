"""What may replace a piece of Python code, by the kind of the mistake."""

import ast
import copy
import re
from collections.abc import Iterator
from typing import Any

# The kinds of mistakes. A room's mutants are drawn from all of them in turn.
KINDS = ("operator", "number", "sign", "factor", "exchange", "bound", "selection", "constant")

_SWAPS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod,), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip
# Names that are easily confused. One replaces the other.
_CONFUSED = (
    *(("x", "y"), ("tx", "ty"), ("px", "py"), ("dx", "dy"), ("up", "down"), ("left", "right")),
    *(("first", "last"), ("begin", "end"), ("start", "stop"), ("entry", "exit"), ("before", "after")),
    *(("lower", "upper"), ("low", "high"), ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax")),
    *(("sin", "cos"), ("floor", "ceil"), ("any", "all"), ("mean", "median"), ("prior", "posterior")),
)
_OTHER = {one: other for pair in _CONFUSED for one, other in (pair, pair[::-1])}
# A path that is joined with a slash is no quotient, and kinds that are joined with a bar are no selection.
_PATHS = re.compile(r"folder|path|file|registry|^(root|parent|name|project|source)s?$", re.IGNORECASE)
_KINDS = {"int", "float", "str", "bool", "bytes", "list", "dict", "tuple", "set"}
# Functions that are easily forgotten.
_OF_ONE = {"sqrt", "square", "log", "exp"}
_LITERALS = (ast.Starred, ast.List, ast.Dict, ast.Set, ast.Lambda, ast.JoinedStr)
_SCALES = (1000.0, 0.001, 10.0)
_TERMS = (ast.Mult, ast.Div)
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def changes(node: ast.AST, names: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes that may replace a node, each after its kind; `names` are the module's."""
    for kind, find in _FINDERS:
        for one in find(node):
            yield kind, one
    if isinstance(node, ast.Name) and _OTHER.get(node.id) in names:
        yield "exchange", ast.Name(_OTHER[node.id], node.ctx)


def constants(value: ast.AST) -> Iterator[ast.AST]:
    """Yield what may replace a number that a module or class defines: another unit."""
    if isinstance(value, ast.Constant) and _is_number(value):
        for scale in _SCALES:
            yield ast.Constant(type(value.value)(value.value * scale))  # type: ignore[operator]


def _operators(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for kind in _SWAPS.get(type(node.ops[0]), ()):
            yield _with(node, ops=[kind(), *node.ops[1:]])
    elif isinstance(node, ast.BoolOp) or (isinstance(node, (ast.BinOp, ast.AugAssign)) and _computes(node)):
        for kind in _SWAPS.get(type(node.op), ()):
            yield _with(node, op=kind())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        yield node.operand


def _numbers(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
        if node.value > 0:
            yield ast.Constant(node.value - 1)
    elif isinstance(node.value, float):
        yield ast.Constant(1.0 if node.value == 0 else 2 * node.value)


def _signs(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _TERMS) and _computes(node):
        yield ast.UnaryOp(ast.USub(), node)
    elif isinstance(node, ast.Call) and _called(node) in {"abs", "hypot", "sin", "tan", "arctan2", "sign"}:
        yield node.args[0] if _called(node) == "abs" and node.args else ast.UnaryOp(ast.USub(), node)


def _factors(node: ast.AST) -> Iterator[ast.AST]:
    if (
        isinstance(node, ast.Call)
        and _called(node) in {"sqrt", "square", "log", "exp"}
        and len(node.args) == 1
    ):
        yield node.args[0]
    elif isinstance(node, ast.BinOp) and _computes(node):
        if isinstance(node.op, ast.Pow):
            yield node.left
        elif isinstance(node.op, _TERMS):
            yield node.left
            yield from (ast.BinOp(ast.Constant(scale), ast.Mult(), node) for scale in _SCALES)


def _exchanges(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and _called(node) not in {"isinstance", "getattr", "hasattr"}:
        yield from (_with(node, args=pair) for pair in _neighbours(node.args))
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and not _is_kind(node.value):
        for pair in _neighbours(node.slice.elts):
            yield _with(node, slice=_with(node.slice, elts=pair))
    elif isinstance(node, ast.Attribute) and node.attr in _OTHER:
        yield _with(node, attr=_OTHER[node.attr])
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _OTHER:
        yield ast.Constant(_OTHER[node.value])


def _neighbours(parts: list[ast.expr]) -> Iterator[list[ast.expr]]:
    for at in range(len(parts) - 1):
        # Arguments that are not alike are not confused, or it is noticed at once.
        if len({_sort(one) for one in parts[at : at + 2]} - {"value"}) == 0:
            yield [*parts[:at], parts[at + 1], parts[at], *parts[at + 2 :]]


def _bounds(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the comparison with a bound that is a thousand times, ten times or a tenth of it."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], _ORDERS) and _computes(node):
        bound = node.comparators[0]
        if not (isinstance(bound, ast.Constant) and bound.value == 0):
            for scale in (1000, 10, 0.1):
                changed = ast.BinOp(ast.Constant(scale), ast.Mult(), bound)
                yield _with(node, comparators=[changed, *node.comparators[1:]])


def _selections(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a selection without one of its conditions, or without its only one."""
    if isinstance(node, ast.BoolOp):
        for at in range(len(node.values)):
            rest = [*node.values[:at], *node.values[at + 1 :]]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        if _is_kind(node.left) or _is_kind(node.right):
            return
        yield from (node.left, node.right)
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (*_ORDERS, ast.Eq, ast.NotEq)):
        yield ast.BinOp(node, ast.BitOr(), ast.Constant(True))
    elif isinstance(node, ast.comprehension):
        for at in range(len(node.ifs)):
            yield _with(node, ifs=[*node.ifs[:at], *node.ifs[at + 1 :]])


_FINDERS = (
    *(("operator", _operators), ("number", _numbers), ("sign", _signs), ("factor", _factors)),
    *(("exchange", _exchanges), ("bound", _bounds), ("selection", _selections)),
)


def _is_number(node: ast.Constant) -> bool:
    return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def _computes(node: ast.AST) -> bool:
    """Return whether an expression is arithmetic: texts and paths are not."""
    return not any(
        (isinstance(part, ast.Constant) and isinstance(part.value, str) and not _is_key(part, node))
        or isinstance(part, ast.JoinedStr)
        or _PATHS.search(getattr(part, "id", getattr(part, "attr", "")))
        for part in ast.walk(node)
    )


def _is_key(text: ast.AST, node: ast.AST) -> bool:
    """Return whether a text is only the key of an entry, as in `hits["x"]`."""
    return any(isinstance(part, ast.Subscript) and part.slice is text for part in ast.walk(node))


def _sort(node: ast.AST) -> str:
    """Return which sort of argument an expression is; only values of any sort are confused."""
    if isinstance(node, ast.Constant) and not _is_number(node):
        return "word"
    return "value" if isinstance(node, (ast.expr, ast.Slice)) and not isinstance(node, _LITERALS) else "other"


def _is_kind(node: ast.AST) -> bool:
    """Return whether an expression names a type."""
    name = getattr(node, "id", getattr(node, "attr", ""))
    return name in _KINDS or (name[:1].isupper() and not name.isupper())


def _called(node: ast.Call) -> str:
    function = node.func
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _with(node: Any, **parts: Any) -> Any:
    changed = copy.copy(node)
    for name, part in parts.items():
        setattr(changed, name, part)
    return changed
