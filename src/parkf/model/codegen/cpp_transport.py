"""C++ that multiplies by a step's Jacobian, without operations for its zeros and ones.

Covariances are those of x, y, tx and ty at fixed q/p; the Jacobian's last column enters the total derivatives
with respect to q/p.
"""

from collections.abc import Callable
from dataclasses import dataclass

import sympy as sp

from parkf.model.codegen.cpp_expressions import function, text

NAMES = ("x", "y", "tx", "ty", "k")
K = 4
ALL = frozenset(range(4))
LOWER = tuple((i, j) for i in range(4) for j in range(i + 1))
# As long as no formula and no hit couples them (in the VELO), x, tx and q/p are uncorrelated with y and ty.
X_PART, Y_PART = frozenset({0, 2}), frozenset({1, 3})
# Elements of the Jacobian that matter for the errors in a step between two planes: lever arms of the slopes,
# and the bend in x. The others (bend in y, leaning planes, fields that vary with y) change an error by a few
# percent. They are neglected in gains and covariances, where they enter squared, but not in the state.
LEVERS_AND_BEND = frozenset({("x", "tx"), ("x", "k"), ("tx", "tx"), ("tx", "k"), ("y", "ty")})


def levers_and_bend(jacobian: sp.Matrix) -> sp.Matrix:
    """Keep levers and bend of a Jacobian between planes; other elements become the identity's."""
    if jacobian[0, 2] == 0:  # corrections in place
        return jacobian
    kept = [[(a, b) in LEVERS_AND_BEND for b in NAMES] for a in NAMES]
    return sp.Matrix(5, 5, lambda i, j: jacobian[i, j] if kept[i][j] else int(i == j))


@dataclass(frozen=True)
class SparseJacobian:
    """Which elements of a 5×5 Jacobian are zero, one, or a number to be computed."""

    name: str
    matrix: sp.Matrix

    @property
    def fields(self) -> dict[str, sp.Expr]:
        """The elements that are computed, by name: row_column."""
        names = ((i, j, f"{NAMES[i]}_{NAMES[j]}") for i in range(5) for j in range(5))
        return {name: self.matrix[i, j] for i, j, name in names if self.matrix[i, j] not in (0, 1)}

    @property
    def pattern(self) -> sp.Matrix:
        """The matrix with symbols f.row_column for the computed elements."""

        def element(i: int, j: int) -> sp.Expr:
            form = self.matrix[i, j]
            return form if form in (0, 1) else sp.Symbol(f"f.{NAMES[i]}_{NAMES[j]}")

        return sp.Matrix(5, 5, element)

    def _transport(self, *, decoupled: bool) -> list[str]:
        """C++ function C ← F C Fᵀ; `decoupled`: elements that couple the x and the y part stay zero."""

        def coupled(i: int, j: int) -> bool:
            return not decoupled or ({i, j} <= X_PART or {i, j} <= Y_PART)

        name = "transport_decoupled" if decoupled else "transport"
        order = self._row_order()
        body = self._transport_by_rows(order, coupled) if order is not None else self._transport_at_once()
        return self._function(name, "Covariance<T>& c", body)

    def _row_order(self) -> list[int] | None:
        """Order in which the components may be updated one after the other; None if there is none.

        A component precedes those that it depends on, because it needs their old values.
        """
        left = [i for i in sorted(ALL) if any(self.matrix[i, j] != int(i == j) for j in ALL)]
        order: list[int] = []
        while left:
            free = [i for i in left if all(self.matrix[j, i] == 0 for j in left if j != i)]
            if not free:
                return None
            order += free
            left = [i for i in left if i not in free]
        return order

    def _transport_by_rows(self, order: list[int], coupled: Callable[[int, int], bool]) -> list[str]:
        """Update one component after the other, with fewer multiplications than for the whole matrix."""
        f = self.pattern
        lines = []
        for i in order:

            def carried(j: int, own: str, i: int = i) -> str:
                others = [m for m in sorted(ALL) if m != i and f[i, m] != 0]
                terms = [f"{f[i, m]}*c({max(m, j)}, {min(m, j)})" for m in others]
                own = own if f[i, i] == 1 else f"{f[i, i]}*{own}"
                return " + ".join([own, *terms])

            lines.append(f"const T carried_{i} = {carried(i, f'c({i}, {i})')};")
            for j in sorted(ALL):
                if j != i and coupled(i, j):
                    element = f"c({max(i, j)}, {min(i, j)})"
                    lines.append(f"{element} = {carried(j, element)};")
            lines.append(f"c({i}, {i}) = {carried(i, f'carried_{i}')};")
        return lines

    def _transport_at_once(self) -> list[str]:
        """Update all components together, because they depend on each other in a circle."""
        f = self.pattern
        half = f[:K, :K] * sp.Matrix(K, K, lambda i, j: sp.Symbol(f"c{max(i, j)}{min(i, j)}"))
        named: dict[sp.Symbol, sp.Expr] = {}

        def name(i: int, j: int) -> sp.Expr:
            if half[i, j].is_Atom:
                return half[i, j]
            symbol = sp.Symbol(f"m{i}{j}")
            named[symbol] = half[i, j]
            return symbol

        results = {}
        for i, j in LOWER:
            form = sum(name(i, m) * f[j, m] for m in ALL if f[j, m] != 0)
            if form != sp.Symbol(f"c{i}{j}"):
                results[i, j] = form
        read = set().union(*(form.free_symbols for form in results.values()))
        used = read.union(*(form.free_symbols for form in named.values()))
        lines = [f"const T c{i}{j} = c({i}, {j});" for i, j in LOWER if sp.Symbol(f"c{i}{j}") in used]
        lines += [f"const T {symbol} = {text(form)};" for symbol, form in named.items() if symbol in read]
        return [*lines, *(f"c({i}, {j}) = {text(form)};" for (i, j), form in results.items())]

    def _multiply(self, name: str, part: frozenset[int] = ALL, *, by_qop: bool = False) -> list[str]:
        """C++ function v ← F v for a vector whose elements outside `part` are zero and stay so.

        `by_qop`: the vector is a derivative with respect to q/p; add the Jacobian's last column to it.
        """
        f = self.pattern
        results = {}
        for i in sorted(part):
            form = sum(f[i, j] * sp.Symbol(f"v{j}") for j in sorted(part)) + (f[i, K] if by_qop else 0)
            if form != sp.Symbol(f"v{i}"):
                results[i] = form
        used = set().union(*(form.free_symbols for form in results.values()))
        lines = [f"const T v{j} = v[{j}];" for j in sorted(part) if sp.Symbol(f"v{j}") in used]
        lines += [f"v[{i}] = {text(form)};" for i, form in results.items()]
        return self._function(name, "T* v", lines)

    def _function(self, name: str, changed: str, body: list[str]) -> list[str]:
        """C++ function of a Jacobian and what it changes. If it changes nothing, parameters have no names."""
        parameters = [f"const Jacobian{self.name}<T>& f", changed]
        if not body:
            parameters = [parameter.rsplit(" ", 1)[0] for parameter in parameters]
        return function(f"void {name}({', '.join(parameters)})", body)

    def functions(self) -> list[str]:
        """Type and functions of the Jacobian, decoupled ones too if the step keeps x and y apart."""
        lines = [
            "template <class T>",
            f"struct Jacobian{self.name} {{",
            f"  T {', '.join(self.fields)};",
            "};",
            "",
        ]
        lines += [*self._transport(decoupled=False), *self._multiply("apply")]
        lines += self._multiply("total_derivative", by_qop=True)
        if all(self.matrix[i, j] == 0 == self.matrix[j, i] for i in X_PART for j in Y_PART):
            lines += [*self._transport(decoupled=True), *self._multiply("apply_x", X_PART)]
            lines += self._multiply("total_derivative_x", X_PART, by_qop=True)
            if any(self.matrix[i, j] != int(i == j) for i in Y_PART for j in Y_PART):
                lines += self._multiply("apply_y", Y_PART)
        return lines
