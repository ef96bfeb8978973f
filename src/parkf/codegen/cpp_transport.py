"""C++ that multiplies with a step's Jacobian, its zeros and ones left out."""

from dataclasses import dataclass

import sympy as sp

from parkf.codegen.cpp_expressions import text

NAMES = ("x", "y", "tx", "ty", "k")
ALL = frozenset(range(5))
# As long as no formula and no hit couples them (in the VELO), x, tx and q/p know nothing of y and ty.
X_PART, Y_PART = frozenset({0, 2, 4}), frozenset({1, 3})


@dataclass(frozen=True)
class SparseJacobian:
    """Which elements of a 5×5 Jacobian are zero, one, or a number to be computed."""

    name: str
    matrix: sp.Matrix

    @property
    def fields(self) -> dict[str, sp.Expr]:
        """The elements that are computed, by name: row_column."""
        return {
            f"{NAMES[i]}_{NAMES[j]}": self.matrix[i, j]
            for i in range(5)
            for j in range(5)
            if self.matrix[i, j] not in (0, 1)
        }

    @property
    def pattern(self) -> sp.Matrix:
        """The matrix with symbols f.row_column for the computed elements."""
        return sp.Matrix(
            5,
            5,
            lambda i, j: (
                self.matrix[i, j] if self.matrix[i, j] in (0, 1) else sp.Symbol(f"f.{NAMES[i]}_{NAMES[j]}")
            ),
        )

    def struct(self) -> list[str]:
        """C++ type that holds the computed elements."""
        fields = ", ".join(self.fields)
        return ["template <class T>", f"struct Jacobian{self.name} {{", f"  T {fields};", "};", ""]

    def transport(self, *, decoupled: bool) -> list[str]:
        """C++ function C ← F C Fᵀ; `decoupled`: what couples the x and the y part is and stays zero."""

        def coupled(i: int, j: int) -> bool:
            return not decoupled or ({i, j} <= X_PART or {i, j} <= Y_PART)

        def element(i: int, j: int) -> sp.Expr:
            return sp.Symbol(f"c{max(i, j)}{min(i, j)}") if coupled(i, j) else sp.Integer(0)

        f = self.pattern
        half = f * sp.Matrix(5, 5, element)
        named: dict[sp.Symbol, sp.Expr] = {}

        def name(i: int, j: int) -> sp.Expr:
            if half[i, j].is_Atom:
                return half[i, j]
            symbol = sp.Symbol(f"m{i}{j}")
            named[symbol] = half[i, j]
            return symbol

        pairs = [(i, j) for i in range(5) for j in range(i + 1) if coupled(i, j)]
        results = {}
        for i, j in pairs:
            form = sum(name(i, m) * f[j, m] for m in range(5) if f[j, m] != 0)
            if form != sp.Symbol(f"c{i}{j}"):
                results[i, j] = form
        used = set().union(*(form.free_symbols for form in (*results.values(), *named.values())))
        function = "transport_decoupled" if decoupled else "transport"
        lines = [
            "template <class T>",
            f"KERNEL_FUNCTION void {function}(const Jacobian{self.name}<T>& f, Covariance<T>& c) {{",
        ]
        lines += [f"  const T c{i}{j} = c({i}, {j});" for i, j in pairs if sp.Symbol(f"c{i}{j}") in used]
        read = set().union(*(form.free_symbols for form in results.values()))
        lines += [f"  const T {symbol} = {text(form)};" for symbol, form in named.items() if symbol in read]
        lines += [f"  c({i}, {j}) = {text(form)};" for (i, j), form in results.items()]
        return [*lines, "}", ""]

    def apply(self, part: frozenset[int] = ALL, suffix: str = "") -> list[str]:
        """C++ function v ← F v for a vector whose elements outside `part` are zero and stay so."""
        f = self.pattern
        lines = [
            "template <class T>",
            f"KERNEL_FUNCTION void apply{suffix}(const Jacobian{self.name}<T>& f, T* v) {{",
        ]
        results = {}
        for i in sorted(part):
            form = sum(f[i, j] * sp.Symbol(f"v{j}") for j in sorted(part))
            if form != sp.Symbol(f"v{i}"):
                results[i] = form
        used = set().union(*(form.free_symbols for form in results.values()))
        lines += [f"  const T v{j} = v[{j}];" for j in sorted(part) if sp.Symbol(f"v{j}") in used]
        lines += [f"  v[{i}] = {text(form)};" for i, form in results.items()]
        return [*lines, "}", ""]

    def functions(self) -> list[str]:
        """Type and functions; the decoupled ones where the step keeps x and y apart."""
        lines = [*self.struct(), *self.transport(decoupled=False), *self.apply()]
        if all(self.matrix[i, j] == 0 == self.matrix[j, i] for i in X_PART for j in Y_PART):
            lines += self.transport(decoupled=True) + self.apply(X_PART, "_x")
            if any(self.matrix[i, j] != int(i == j) for i in Y_PART for j in Y_PART):
                lines += self.apply(Y_PART, "_y")
        return lines
