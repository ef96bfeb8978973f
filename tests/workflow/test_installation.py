"""An old kernel is refused, and the compiler is the user's."""

import pytest

from parkf.io.errors import ParkfError
from parkf.workflow import installation


def test_a_kernel_of_other_formulas_is_refused(monkeypatch):
    installation.require_current_kernel()
    monkeypatch.setattr(installation, "kernel_is_current", lambda: False)
    with pytest.raises(ParkfError, match=r"the compiled kernel is older than the formulas, .* `make build`"):
        installation.require_current_kernel()


def test_the_compiler_that_the_user_names_comes_first(monkeypatch):
    there = {"g++", "my-compiler"}
    monkeypatch.setattr(installation.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setenv("CXX", "my-compiler")
    assert installation.found_compiler() == "my-compiler"
    monkeypatch.setenv("CXX", "not-there")
    assert installation.found_compiler() == "g++"
    there.clear()
    assert installation.found_compiler() is None
