"""The generated C++ headers: everything of the kernel that derives from the symbolic steps."""

from collections.abc import Iterable

from parkf.model.codegen.cpp_magnet import magnet_functions
from parkf.model.codegen.cpp_steps import by_name, step_functions
from parkf.model.steps import Forms

_OPENING = [
    "#pragma once",
    "// Written by `python -m parkf.model.codegen` from the formulas in parkf.model.steps;"
    " edit the formulas, not this file.",
]


def kernel_header(forms: Forms, name: str) -> str:
    """Text of ``steps_generated.hpp``, in a namespace of this name."""
    lines = [
        *_OPENING,
        '#include "fit/state.hpp"',
        "",
        "// The set of forms: all that is made for it lies in a namespace of its own.",
        f"#define PARKF_FORMS {name}",
        "",
        "namespace parkf::kalman::PARKF_FORMS {",
        "",
        f'constexpr char formulas_hash[] = "{forms.hash()}";',
        "",
        *_layout(forms),
    ]
    for step in forms.steps.values():
        lines += step_functions(step)
    lines += magnet_functions(forms)
    return "\n".join([*lines, "}  // namespace parkf::kalman::PARKF_FORMS", ""])


def by_name_header(forms: Forms) -> str:
    """Text of ``steps_by_name.hpp``, which only the Python module includes."""
    lines = [
        *_OPENING,
        "#include <string>",
        "",
        '#include "steps_generated.hpp"',
        "",
        "namespace parkf::kalman::PARKF_FORMS {",
        "",
    ]
    return "\n".join(
        [*lines, *by_name(list(forms.steps.values())), "}  // namespace parkf::kalman::PARKF_FORMS", ""]
    )


def list_header(names: Iterable[str]) -> str:
    """Text of ``all_forms.hpp``: the sets of forms that the Python module is built with, today's first."""
    names = list(names)
    objects = ", ".join(f"&{name}::forms" for name in names)
    lines = [
        *_OPENING,
        '#include "fit/forms.hpp"',
        "",
        "namespace parkf::kalman {",
        "",
        *(f"namespace {name} {{\nextern const Forms forms;\n}}" for name in names),
        "",
        f"constexpr const Forms* all_forms[] = {{{objects}}};",
        "",
        "}  // namespace parkf::kalman",
        "",
    ]
    return "\n".join(lines)


def _layout(forms: Forms) -> list[str]:
    layout = forms.layout
    blocks = [(layout.offsets[block.name], block.name, *block.shape) for block in layout.blocks]
    return [
        "/// Where the blocks of the constant blob start, the length of a set, and how many sets there are.",
        "namespace layout {",
        *(
            f"constexpr int {name} = {offset}, {name}_columns = {columns}, {name}_sets = {sets};"
            for offset, name, sets, columns in blocks
        ),
        f"constexpr int count = {layout.constant_count};",
        "}  // namespace layout",
        "",
    ]
