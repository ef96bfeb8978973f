"""Expressions as C++ text, with constants in the type of the numbers and no calls in double precision."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import sympy as sp
from sympy.printing.cxx import CXX17CodePrinter


class KernelPrinter(CXX17CodePrinter):
    """Prints for code templated on a number type T with scalar type S; integer powers become products."""

    def _print_Integer(self, expr: sp.Integer) -> str:  # noqa: N802
        return f"S({int(expr)})"

    def _print_Rational(self, expr: sp.Rational) -> str:  # noqa: N802
        return f"S({float(expr)!r})"

    _print_Float = _print_Rational  # noqa: N815

    def _print_Abs(self, expr: sp.Abs) -> str:  # noqa: N802
        return f"magnitude({self._print(expr.args[0])})"

    def _print_sign(self, expr: sp.Function) -> str:
        return f"side({self._print(expr.args[0])})"

    _print_Side = _print_sign  # noqa: N815

    def _print_Min(self, expr: sp.Min) -> str:  # noqa: N802
        first, second = expr.args
        return f"smaller({self._print(first)}, {self._print(second)})"

    def _print_Inverse(self, expr: sp.Function) -> str:  # noqa: N802
        return f"(S(1) / {self.parenthesize(expr.args[0], 1000, strict=True)})"

    def _print_Add(self, expr: sp.Add, order: str | None = None) -> str:  # noqa: N802
        """Print single terms before products, so that fused instructions add all products."""
        terms = sorted(self._as_ordered_terms(expr, order=order), key=lambda term: term.is_Mul)
        texts = [self._print(term) for term in terms]
        return " ".join([texts[0], *(f"- {t[1:]}" if t[0] == "-" else f"+ {t}" for t in texts[1:])])

    def _print_Pow(self, expr: sp.Pow) -> str:  # noqa: N802
        base, exponent = expr.args
        if exponent.is_negative:
            raise ValueError(f"{expr}: inverse powers are written as powers of Inverse first")
        text = self._print(base)
        whole, quarters = divmod(4 * exponent, 4)
        if not quarters.is_integer:
            raise ValueError(f"power {exponent} in a formula: the kernel has none but quarters")
        root = f"root({text})"
        roots = {0: [], 1: [f"root({root})"], 2: [root], 3: [f"root({root})", root]}[int(quarters)]
        factors = [self.parenthesize(base, 1000, strict=True)] * int(whole) + roots
        return factors[0] if len(factors) == 1 else f"({' * '.join(factors)})"


class Inverse(sp.Function):
    """1/argument, so that all its powers, and those for the opposite argument, share one division."""

    @classmethod
    def eval(cls, argument: sp.Expr) -> sp.Expr | None:
        """Move a sign out of the argument."""
        return -cls(-argument) if argument.could_extract_minus_sign() else None


def _divided_once(expression: sp.Expr) -> sp.Expr:
    """Write inverse powers as powers of the inverse: divisions are a processor's slowest instructions."""
    return expression.replace(
        lambda e: e.is_Pow and e.exp.is_negative,
        lambda e: Inverse(e.base) ** -e.exp if e.exp.is_integer else Inverse(sp.sqrt(e.base)) ** (-2 * e.exp),
    )


_printer = KernelPrinter()
_PARAMETER = re.compile(r"p(\d+)")


def text(expression: sp.Expr) -> str:
    """C++ text of one expression."""
    return str(_printer.doprint(expression))


def function(signature: str, body: Iterable[str], *comments: str, template: str = "class T") -> list[str]:
    """C++ function of the kernel, with comments before it."""
    return [
        *(f"/// {comment}" for comment in comments),
        f"template <{template}>",
        f"KERNEL_FUNCTION {signature} {{",
        *(f"  {line}" for line in body),
        "}",
        "",
    ]


def assignments(
    targets: Mapping[str, sp.Expr], parts: Mapping[sp.Symbol, sp.Expr] = MappingProxyType({})
) -> list[str]:
    """C++ statements that set `targets` of number type T and share common subexpressions.

    Names that are declared elsewhere may be read; parameters p0, p1, … are read from `p[…]` first. Parts
    are declared before the targets, by the same text in every function, so that compilers recognise them.
    All targets are set after everything has been computed, so a target may also be an input.
    """
    named = [(name, _divided_once(form)) for name, form in parts.items()]
    forms = [_divided_once(form) for form in targets.values()]
    steps, results = sp.cse(forms, symbols=sp.numbered_symbols("t"))
    read = set().union(*(form.free_symbols for form in (*(f for _, f in steps), *results)))
    parameters = {int(match[1]) for symbol in read if (match := _PARAMETER.fullmatch(str(symbol)))}
    lines = [f"const auto p{i} = p[{i}];" for i in sorted(parameters)]
    lines += [f"const auto {name} = {text(form)};" for name, form in (*named, *steps)]
    lines += [f"const T new_{i} = {text(form)};" for i, form in enumerate(results)]
    lines += [f"{target} = new_{i};" for i, target in enumerate(targets)]
    constants = any("S(" in line for line in lines)
    return (["using S = Scalar<T>;"] if constants else []) + lines
