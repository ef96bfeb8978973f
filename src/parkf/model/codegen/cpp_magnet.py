"""C++ of the hop through the magnet: header transform, interpolation weights, layout of a bin."""

import sympy as sp

from parkf.model.codegen.cpp_expressions import assignments, function, text
from parkf.model.codegen.cpp_transport import SparseJacobian
from parkf.model.layout import BINS, HEADER
from parkf.model.steps import Forms, magnet
from parkf.model.steps.magnet import TableForm
from parkf.model.steps.symbols import STATE, h, k, tx, ty

_FACTORS = {"1": "0", "u_x": "x", "u_y": "y"}


def magnet_functions(forms: Forms) -> list[str]:
    """All C++ of the hop through the magnet that derives from formulas."""
    # Jacobian of table and corrections: x and y of the state only choose the bins.
    pattern = sp.Matrix(5, 5, lambda i, j: int(i == j) if j < 2 or i == 4 else sp.Symbol(f"e{i}{j}"))
    here = forms.steps["UTTF"].local_qop
    return [
        "// The magnet: table and corrections.",
        *SparseJacobian("Magnet", pattern).functions(),
        *function(
            "void local_qop(const P& p, const T& k, T& here, T& derivative)",
            assignments({"here": here, "derivative": sp.diff(here, k)}),
            "q/p after the energy loss before the magnet, and its derivative to q/p at production.",
            template="class T, class P",
        ),
        *_deviations(),
        *_place(forms.table),
        *_weights(),
        *_slopes(forms.table),
        *_bin_layout(forms.table),
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
    return [
        "/// What the polynomials depend on; x_tx = ∂x/∂tx = ∂y/∂ty, x_h and y_h are derivatives to h.",
        "template <class T>",
        "struct Deviations {",
        "  T f, x, y, x_tx, x_h, y_h;",
        "};",
        "",
        *function(
            "Deviations<T> deviations(const P& header, const T& h, const State<T>& s)",
            [
                "const T x = s.x, y = s.y, tx = s.tx, ty = s.ty;",
                *_header_of(*targets.values()),
                "Deviations<T> u;",
                *assignments(targets),
                "return u;",
            ],
            template="class T, class P",
        ),
    ]


def _weights() -> list[str]:
    numbered = list(enumerate(magnet.WEIGHTS.values()))
    targets = {f"w[{i}]": form for i, form in numbered}
    slopes = {f"w_{axis}[{i}]": sp.diff(form, axis) for axis in (magnet.a, magnet.b) for i, form in numbered}
    neighbours = []
    for axis, steps in zip("xy", zip(*magnet.WEIGHTS, strict=True), strict=True):
        body = f"constexpr int steps[6] = {{{', '.join(map(str, steps))}}}; return steps[n];"
        neighbours.append(f"KERNEL_FUNCTION int neighbour_{axis}(int n) {{ {body} }}")
    return [
        *function(
            "void bin_weights(const T& a, const T& b, T* w)",
            assignments(targets),
            "Weights of the six bins, in the order of neighbour_x and neighbour_y.",
        ),
        *function(
            "void bin_weight_slopes(const T& a, const T& b, T* w_a, T* w_b)",
            assignments(slopes),
            "Their derivatives.",
        ),
        "/// Steps in bins, in the direction of the offset, from the nearest bin to the n-th that is read.",
        *neighbours,
        "",
    ]


def _header_of(*forms: sp.Expr) -> list[str]:
    """Statements that read the numbers of the header in some formulas."""
    used = {str(symbol) for form in forms for symbol in form.free_symbols}
    return [f"const auto {n} = header[{i}];" for i, n in enumerate(HEADER) if n in used]


def _place(form: TableForm) -> list[str]:
    lever, (scale_x, scale_y) = form.lever, form.scales

    def on_axis(axis: str, scale: sp.Expr) -> str:
        at = f"s.{axis}" if lever == 0 else f"(s.{axis} + T({text(lever)}) * s.t{axis})"
        return f"{axis} = {at} * T({text(scale)});"

    read = _header_of(lever, scale_x, scale_y)
    slopes = [f"x_tx = {text(lever * scale_x)};", f"y_ty = {text(lever * scale_y)};"]
    return [
        *function(
            "void table_place(const Scalar<T>* header, const State<T>& s, T& x, T& y)",
            ["using S = Scalar<T>;", *read, on_axis("x", scale_x), on_axis("y", scale_y)],
            "Where on the grid, -1 to 1 on both axes, a state at z_in finds its bins.",
        ),
        *function(
            "void table_place_slopes(const S* header, S& x_tx, S& y_ty)",
            [*_header_of(lever * scale_x, lever * scale_y), *slopes],
            "How that place changes with the slopes.",
            template="class S",
        ),
    ]


def _slopes(form: TableForm) -> list[str]:
    """C++ functions that add the polynomials' values to the slopes, with the derivatives."""
    lines = ["s.tx += gain_x;", "s.ty += gain_y;", "f.tx_tx += T(1);", "f.ty_ty += T(1);"]
    lines_x = ["out = s.tx + gain;", "out_k = gain_k;"]
    if form.sines:
        lines, lines_x = _bend_sines(form)
    return [
        *function(
            "void bend(const T& gain_x, const T& gain_y, State<T>& s, JacobianMagnet<T>& f)",
            lines,
            "Slopes behind the bend. `f` holds the derivatives of what they gain, and then their own.",
        ),
        *function(
            "void bend_x(const T& gain, const T& gain_k, const State<T>& s, T& out, T& out_k)",
            lines_x,
            "tx alone, as if ty went straight, and its derivative to q/p from that of what it gains.",
        ),
    ]


def _bend_sines(form: TableForm) -> tuple[list[str], list[str]]:
    """Statements of both functions where the bend is added to s = t/√(1 + tx² + ty²)."""
    sums: dict[str, sp.Expr] = dict(zip(("sx", "sy"), form.summed, strict=True))
    before = sums | {f"{s}_{t}": sp.diff(sums[s], t) for s in sums for t in (tx, ty)}
    # Back to slopes: t = s/√q with q = 1 − s², which must not come near zero.
    sx, sy, q = sp.symbols("sx sy q")
    after = {"tx": sx / sp.sqrt(q), "ty": sy / sp.sqrt(q)}
    after |= {
        f"{t}_{s}": sp.diff(slope, s) + sp.diff(slope, q) * sp.diff(1 - sx**2 - sy**2, s)
        for t, slope in after.items()
        for s in (sx, sy)
    }
    chain = []
    for column in ("tx", "ty", "k"):
        for a in "xy":
            own = "" if column == "k" else f" + s{a}_{column}"
            chain.append(f"const T d{a}_{column} = f.t{a}_{column}{own};")
        chain += [f"f.t{a}_{column} = t{a}_sx * dx_{column} + t{a}_sy * dy_{column};" for a in "xy"]
    cosine = f"const T q = larger(T(1) - sx * sx - sy * sy, T(Scalar<T>({magnet.SMALLEST_COSINE_SQUARED})));"
    lines = [
        "const T tx = s.tx, ty = s.ty;",
        f"T {', '.join(before)}, {', '.join(name for name in after if '_' in name)};",
        *_in_block(before),
        "sx += gain_x;",
        "sy += gain_y;",
        cosine,
        *_in_block({f"s.{n}" if "_" not in n else n: e for n, e in after.items()}),
        *chain,
    ]
    lines_x = [
        "const T tx = s.tx, ty = s.ty;",
        "T sx, sy;",
        *_in_block(sums),
        "sx += gain;",
        cosine,
        *assignments({"out": after["tx"], "out_k": after["tx_sx"] * sp.Symbol("gain_k")}),
    ]
    return lines, lines_x


def _in_block(targets: dict[str, sp.Expr]) -> list[str]:
    return ["{", *(f"  {line}" for line in assignments(targets)), "}"]


def _bin_layout(form: TableForm) -> list[str]:
    lines = ["/// Where a bin's polynomials start, and their degrees.", "namespace bin {"]
    position, places = 0, dict[str, list[str]]()
    for piece in form.pieces:
        name = f"u{_FACTORS[piece.factor]}"
        place = f"  static constexpr int {name} = {position}, {name}_degree = {piece.degree};"
        places.setdefault(piece.component, []).append(place)
        position += piece.degree
    for component, fields in places.items():
        lines += [f"struct {component} {{", *fields, "};"]
    signature = [(HEADER.index(name), value) for name, value in form.signature.items()]
    lines += [
        "/// Whether slopes have a say in which bins a track finds.",
        f"constexpr bool by_slopes = {'false' if form.lever == 0 else 'true'};",
        f"constexpr int count = {position}, nx = {BINS[0]}, ny = {BINS[1]};",
        "/// Whether a header is of these bins, this grid and these degrees.",
        "KERNEL_FUNCTION bool is_mine(const float* header) {",
        f"  return {' && '.join(f'header[{i}] == {value}' for i, value in signature)};",
        "}",
        "}  // namespace bin",
        "",
    ]
    return lines
