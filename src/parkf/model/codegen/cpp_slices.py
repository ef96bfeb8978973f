"""C++ of the steps inside the magnet, slice by slice."""

from collections.abc import Iterable

import sympy as sp

from parkf.model.codegen.cpp_expressions import assignments, function
from parkf.model.steps import slices
from parkf.model.steps.step import turned
from parkf.model.steps.symbols import COMPONENTS, STATE, h, k, tx, ty

_HOP = (slices.length, slices.begin, slices.end, slices.centre)
_FIELDS = (*slices.FIELDS, *slices.SLOPES)
_SLOPED = {str(slope).split("_")[0] for slope in slices.SLOPES}
# Floats of a node: those of its maps, filled up so that a vector holds them.
ROW = 8


def slice_functions() -> list[str]:
    """All C++ of the slices that derives from formulas."""
    cells, nodes = slices.CELLS, slices.NODES
    return [
        f"constexpr int cells_x = {cells[0]}, cells_y = {cells[1]};",
        f"constexpr int nodes_x = {nodes[0]}, nodes_y = {nodes[1]};",
        f"constexpr int maps = {len(slices.MAPS)}, row = {ROW};",
        f"constexpr int sloped = {len(_SLOPED)};  // the first maps, whose derivatives are used",
        "",
        "/// A part of a slice that a track crosses, and the bend in the slice's centre.",
        *_struct("Hop", _HOP),
        "/// The maps where a track crosses the middle of a slice, and derivatives of two of them.",
        *_struct("Fields", _FIELDS),
        *function(
            "void keep(Fields<T>& fields, const T* values, const T* by_x, const T* by_y)",
            _kept(),
            "Take the maps, in their order in a node, and their derivatives.",
        ),
        *function(
            "void spline_weights(const T& t, T* w, T* w_t)",
            assignments(
                {f"w[{i}]": form for i, form in enumerate(slices.WEIGHTS)}
                | {f"w_t[{i}]": sp.diff(form, slices.t) for i, form in enumerate(slices.WEIGHTS)}
            ),
            "Weights of three neighbouring nodes, and their derivatives.",
        ),
        *_state_function(
            "void middle(const Hop<T>& hop, const T& pol, const State<T>& s, T& X, T& Y)",
            dict(zip("XY", slices.MIDDLE, strict=True)),
            "Where a track crosses the middle of the slice.",
        ),
        *_state_function(
            "void cross(const Hop<T>& hop, const Fields<T>& fields, const T& pol, State<T>& s, T (*f)[5])",
            {f"s.{name}": slices.OUTPUTS[name] for name in COMPONENTS}
            | {
                f"f[{i}][{j}]": slices.derivative(slices.OUTPUTS[name], variable)
                for i, name in enumerate(COMPONENTS)
                for j, variable in enumerate((*STATE, k))
            },
            "Carry a state through a part of a slice; `f` is its Jacobian.",
        ),
        *_state_function(
            "void turns(const State<T>& s, T& turn_x, T& turn_y)",
            {f"turn_{t}": turned(slope) for t, slope in (("x", tx), ("y", ty))},
            "The changes of tx and ty by scattering of 1 MeV over the momentum.",
        ),
    ]


def _struct(name: str, symbols: Iterable[sp.Symbol]) -> list[str]:
    names = ", ".join(map(str, symbols))
    return ["template <class T>", f"struct {name} {{", f"  T {names};", "};", ""]


def _kept() -> list[str]:
    places = {str(field): f"values[{i}]" for i, field in enumerate(slices.FIELDS)}
    for slope in map(str, slices.SLOPES):
        field, axis = slope.split("_")
        places[slope] = places[field].replace("values", f"by_{axis}")
    return [f"fields.{name} = {place};" for name, place in places.items()]


def _state_function(signature: str, targets: dict[str, sp.Expr], comment: str) -> list[str]:
    used = set().union(*(form.free_symbols for form in targets.values()))
    body = [f"const T {v} = s.{v};" for v in (*STATE, k) if v in used or (v == k and h in used)]
    body += ["const T h = pol * k;"] if h in used else []
    body += [f"const T {v} = hop.{v};" for v in _HOP if v in used]
    body += [f"const T {v} = fields.{v};" for v in _FIELDS if v in used]
    return function(signature, [*body, *assignments(targets)], comment)


def slices_header(opening: list[str]) -> str:
    """Text of ``slices_generated.hpp``."""
    lines = [*opening, '#include "fit/state.hpp"', "", "namespace parkf::slices {", ""]
    lines += ["using kalman::State;", "", *slice_functions(), "}  // namespace parkf::slices", ""]
    return "\n".join(lines)
