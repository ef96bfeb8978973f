"""Formulas as text that people and :func:`formula` can read: ``tx + h*p3*(z1 - z0)/100000``."""

import ast
import operator
from collections.abc import Callable

import sympy as sp

from parkf.io.errors import ParkfError
from parkf.model.steps.symbols import Local, Side

_FUNCTIONS: dict[str, Callable[..., sp.Expr]] = {
    function.__name__: function for function in (sp.Abs, Local, sp.Min, Side, sp.sqrt)
}
_OPERATORS: dict[type[ast.operator], Callable[[sp.Expr, sp.Expr], sp.Expr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def text(expression: sp.Expr) -> str:
    """Write a formula as text.

    A ParkfError reports what :func:`formula` could not read back: another function, or a decimal number.
    """
    written = str(sp.sstr(expression))
    if formula(written) != expression:
        raise ParkfError(f"formula '{written:.200}': cannot be written down; powers, roots and fractions can")
    return written


def formula(written: str) -> sp.Expr:
    """Read a formula that :func:`text` wrote; none of it is run as Python.

    Other text raises a ParkfError: numbers must be integers, and functions those of the kernel.
    """
    try:
        return _read(ast.parse(written, mode="eval").body)
    except (KeyError, SyntaxError) as error:
        raise ParkfError(f"formula '{written:.200}': cannot be read: {error}") from error


def _read(node: ast.expr) -> sp.Expr:
    match node:
        case ast.Constant(value=int(number)):
            return sp.Integer(number)
        case ast.Name(id=name):
            return sp.Symbol(name, real=True)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand)
        case ast.BinOp(left=left, op=sign, right=right):
            return _OPERATORS[type(sign)](_read(left), _read(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _FUNCTIONS[name](*map(_read, arguments))
    raise KeyError(ast.unparse(node))
