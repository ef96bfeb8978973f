"""The generated C++ headers: everything of the kernel that derives from the symbolic steps."""

from parkf.codegen.cpp_magnet import magnet_functions
from parkf.codegen.cpp_steps import by_name, step_functions
from parkf.steps import BLOCKS, CONSTANT_COUNT, STEPS, formulas_hash, offsets

_OPENING = [
    "#pragma once",
    "// Written by `python -m parkf.codegen` from the formulas in parkf.steps: edit those, not this.",
]


def kernel_header() -> str:
    """Text of ``steps_generated.hpp``."""
    lines = [
        *_OPENING,
        '#include "state.hpp"',
        "",
        "namespace parkf::kalman {",
        "",
        f'constexpr char formulas_hash[] = "{formulas_hash()}";',
        "",
        *_layout(),
    ]
    for step in STEPS.values():
        lines += step_functions(step)
    lines += magnet_functions()
    return "\n".join([*lines, "}  // namespace parkf::kalman", ""])


def by_name_header() -> str:
    """Text of ``steps_by_name.hpp``, which only the Python module includes."""
    lines = [
        *_OPENING,
        "#include <string>",
        "",
        '#include "steps_generated.hpp"',
        "",
        "namespace parkf::kalman {",
        "",
    ]
    return "\n".join([*lines, *by_name(list(STEPS.values())), "}  // namespace parkf::kalman", ""])


def _layout() -> list[str]:
    lines = [
        "/// Where the blocks of the constant blob start, and how many numbers a set has.",
        "namespace layout {",
    ]
    for block in BLOCKS:
        name = block.name
        lines.append(f"constexpr int {name} = {offsets()[name]}, {name}_columns = {block.shape[1]};")
    return [*lines, f"constexpr int count = {CONSTANT_COUNT};", "}  // namespace layout", ""]
