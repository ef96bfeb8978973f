"""The kernel's source text, as run-time compilers and C++ users receive it."""

import pytest

from parkf.fit.source import KERNEL_FOLDER, flattened
from parkf.model.steps import FORMS


@pytest.mark.parametrize("file", ["fit/fit.cu", "fit/robust.cu", "fit/kind.cu"])
@pytest.mark.parametrize("forms", FORMS)
def test_the_flattened_source_stands_alone(forms, file):
    text = flattened(forms, file)
    assert '#include "' not in text
    assert "#pragma once" not in text
    assert text.count("struct Covariance {") == 1
    # Files that the generated header needs come before it.
    assert text.index("struct Covariance {") < text.index("struct JacobianV {")


@pytest.mark.parametrize("forms", FORMS)
def test_its_steps_are_those_of_its_forms(forms):
    generated = (KERNEL_FOLDER / forms / "steps_generated.hpp").read_text().splitlines()
    steps = {line for line in generated if " step_" in line}
    assert len(steps) > 5
    assert steps <= set(flattened(forms).splitlines())


def test_headers_are_installed_for_cpp_users():
    assert {"smoother.hpp", "fit.cu"} <= {p.name for p in (KERNEL_FOLDER / "fit").iterdir()}
    assert all((KERNEL_FOLDER / forms / "steps_generated.hpp").exists() for forms in FORMS)
