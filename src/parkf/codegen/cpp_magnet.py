"""C++ of the hop through the magnet: header transform, interpolation weights, layout of a bin."""

import sympy as sp

from parkf.codegen.cpp_expressions import assignments
from parkf.codegen.cpp_transport import SparseJacobian
from parkf.steps import Forms, magnet
from parkf.steps.symbols import STATE, h, k

_FACTORS = {"1": "0", "u_x": "x", "u_y": "y"}


def magnet_functions(forms: Forms) -> list[str]:
    """All C++ of the hop through the magnet that derives from formulas."""
    return [
        *_jacobian(),
        *_local_qop(forms.steps["UTTF"].local_qop),
        *_deviations(),
        *_weights(),
        *_bin_layout(),
    ]


def _jacobian() -> list[str]:
    """Transport through table and corrections: x and y themselves enter the bins only."""
    pattern = sp.Matrix(5, 5, lambda i, j: int(i == j) if j < 2 or i == 4 else sp.Symbol(f"e{i}{j}"))
    return ["// The magnet: table and corrections.", *SparseJacobian("Magnet", pattern).functions()]


def _local_qop(form: sp.Expr) -> list[str]:
    targets = {"here": form, "derivative": sp.diff(form, k)}
    return [
        "/// q/p after the energy loss before the magnet, and its derivative to q/p at production.",
        "template <class T, class P>",
        "KERNEL_FUNCTION void local_qop(const P& p, const T& k, T& here, T& derivative) {",
        *(f"  {line}" for line in assignments(targets)),
        "}",
        "",
    ]


def _deviations() -> list[str]:
    targets = {
        "u.f": magnet.F,
        "u.x": magnet.U_X,
        "u.y": magnet.U_Y,
        "u.x_tx": sp.diff(magnet.U_X, STATE[2]),
        "u.x_h": sp.diff(magnet.U_X, h),
        "u.y_h": sp.diff(magnet.U_Y, h),
    }
    used = set().union(*(form.free_symbols for form in targets.values())) - {*STATE, h}
    read = [f"  const auto {n} = header[{i}];" for i, n in enumerate(magnet.HEADER) if n in map(str, used)]
    return [
        "/// What the polynomials depend on; x_tx = ∂x/∂tx = ∂y/∂ty, x_h and y_h are derivatives to h.",
        "template <class T>",
        "struct Deviations {",
        "  T f, x, y, x_tx, x_h, y_h;",
        "};",
        "",
        "template <class T, class P>",
        "KERNEL_FUNCTION Deviations<T> deviations(const P& header, const T& h, const State<T>& s) {",
        "  const T x = s.x, y = s.y, tx = s.tx, ty = s.ty;",
        *read,
        "  Deviations<T> u;",
        *(f"  {line}" for line in assignments(targets)),
        "  return u;",
        "}",
        "",
    ]


def _weights() -> list[str]:
    targets = {f"w[{i}]": form for i, form in enumerate(magnet.WEIGHTS.values())}

    def neighbour(axis: str, steps: list[int]) -> str:
        values = ", ".join(map(str, steps))
        body = f"constexpr int steps[6] = {{{values}}}; return steps[n];"
        return f"KERNEL_FUNCTION int neighbour_{axis}(int n) {{ {body} }}"

    return [
        "/// Weights of the six bins, in the order of neighbour_x and neighbour_y.",
        "template <class T>",
        "KERNEL_FUNCTION void bin_weights(const T& a, const T& b, T* w) {",
        *(f"  {line}" for line in assignments(targets)),
        "}",
        "",
        "/// Steps in bins, in the direction of the offset, from the nearest bin to the n-th that is read.",
        neighbour("x", [i for i, _ in magnet.WEIGHTS]),
        neighbour("y", [j for _, j in magnet.WEIGHTS]),
        "",
    ]


def _bin_layout() -> list[str]:
    lines = ["/// Where a bin's polynomials start, and their degrees.", "namespace bin {"]
    position = 0
    for piece in magnet.PIECES:
        name = f"{piece.component}_u{_FACTORS[piece.factor]}"
        lines.append(f"constexpr int {name} = {position}, {name}_degree = {piece.degree};")
        position += piece.degree
    lines += [
        f"constexpr int count = {position}, nx = {magnet.BINS[0]}, ny = {magnet.BINS[1]};",
        "}  // namespace bin",
        "",
    ]
    return lines
