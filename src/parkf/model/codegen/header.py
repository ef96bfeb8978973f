"""The generated C++ headers: everything of the kernel that derives from the symbolic steps."""

from collections.abc import Iterable
from dataclasses import replace

from parkf.io.planes import RICH_PLANES
from parkf.model.codegen.cpp_magnet import magnet_functions
from parkf.model.codegen.cpp_steps import by_name, step_functions
from parkf.model.layout import Block
from parkf.model.steps import Forms
from parkf.model.steps.rich import OWN_STEPS, rich_blocks

OPENING = [
    "#pragma once",
    "// Written by `python -m parkf.model.codegen` from the formulas in parkf.model.steps;"
    " edit the formulas, not this file.",
]

# The noise of these steps only weighs the tracks of a fit, so the kernel does without it.
_RICH_STEPS = [replace(step, noise={}) for step in OWN_STEPS]


def kernel_header(forms: Forms, name: str) -> str:
    """Text of ``steps_generated.hpp``, in a namespace of this name."""
    lines = [
        *OPENING,
        '#include "fit/state.hpp"',
        "",
        "// The set of forms: all that is made for it lies in a namespace of its own.",
        f"#define PARKF_FORMS {name}",
        "",
        "namespace parkf::kalman::PARKF_FORMS {",
        "",
        f'constexpr char formulas_hash[] = "{forms.hash()}";',
        "",
        "/// Where the blocks of the constant blob start, the length of a set, and how many sets there are.",
        "namespace layout {",
        *_places(forms.layout.blocks),
        "}  // namespace layout",
        "",
        "/// The planes of the RICH detectors, mm, and the same of the constants of the steps to them.",
        "namespace rich {",
        f"constexpr int planes = {len(RICH_PLANES)};",
        f"constexpr double z[planes] = {{{', '.join(map(str, RICH_PLANES))}}};",
        *_places(rich_blocks().values()),
        "}  // namespace rich",
        "",
    ]
    for step in (*forms.steps.values(), *_RICH_STEPS):
        lines += step_functions(step)
    return "\n".join([*lines, *magnet_functions(forms), "}  // namespace parkf::kalman::PARKF_FORMS", ""])


def _places(blocks: Iterable[Block]) -> list[str]:
    lines, count = [], 0
    for block in blocks:
        name, (sets, columns) = block.name, block.shape
        lines.append(f"constexpr int {name} = {count}, {name}_columns = {columns}, {name}_sets = {sets};")
        count += block.size
    return [*lines, f"constexpr int count = {count};"]


def by_name_header(forms: Forms) -> str:
    """Text of ``steps_by_name.hpp``, which only the Python module includes."""
    lines = [
        *OPENING,
        "#include <string>",
        "",
        '#include "steps_generated.hpp"',
        "",
        "namespace parkf::kalman::PARKF_FORMS {",
        "",
        *by_name([*forms.steps.values(), *_RICH_STEPS]),
        "}  // namespace parkf::kalman::PARKF_FORMS",
        "",
    ]
    return "\n".join(lines)


def list_header(names: Iterable[str]) -> str:
    """Text of ``all_forms.hpp``: the sets of forms that the Python module is built with, today's first."""
    names = list(names)
    objects = ", ".join(f"&{name}::forms" for name in names)
    lines = [
        *OPENING,
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
