"""The public names of parkf: the list, the cost of importing them, and their docstrings' promises."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import parkf

ROOT = Path(__file__).parents[2]
SIGNATURES = {
    "compare": "(first: str | pathlib.Path, *others: str | pathlib.Path)",
    "example": "()",
    "load": "(which: str | pathlib.Path, *, sha256: str | None = None, withdrawn: bool = False)",
    "published": "()",
    "run": "(which: str | pathlib.Path = 'default')",
}
CLASSES = {"Parameters", "Run", "StepFunction", "Tracks"}


def test_the_public_names_are_these():
    assert set(parkf.__all__) == {*SIGNATURES, *CLASSES, "ParkfError", "__version__"}
    assert dir(parkf) == sorted(parkf.__all__)
    for name in parkf.__all__:
        assert getattr(parkf, name) is not None


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_are_called_as_before(name):
    assert str(inspect.signature(getattr(parkf, name))).startswith(SIGNATURES[name])


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(AttributeError, match="no attribute 'lod'; public names are Parameters"):
        parkf.lod  # noqa: B018


def test_an_import_loads_nothing_until_a_name_is_used():
    program = (
        "import sys; before = set(sys.modules); import parkf; new = set(sys.modules) - before;"
        "print(*sorted(name for name in new if name.split('.')[0] in ('numpy', 'pandas', 'pyarrow', 'sympy')"
        " or name.startswith('parkf.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", [*SIGNATURES, *sorted(CLASSES)])
def test_each_name_is_documented_with_units_and_errors(name):
    value = getattr(parkf, name)
    members = [value] if name in SIGNATURES else [value, *_methods(value)]
    for member in members:
        assert inspect.getdoc(member), f"{name}: {member}"
        source = inspect.getsource(member)
        if callable(member) and not inspect.isclass(member) and "raise ParkfError" in source:
            assert "Raises" in inspect.getdoc(member) or "errors are those" in inspect.getdoc(member), member


def _methods(value):
    return [
        member
        for name, member in vars(value).items()
        if not name.startswith("_") and inspect.isfunction(member)
    ]


def test_typing_sees_what_is_loaded_late():
    tree = ast.parse((ROOT / "src/parkf/__init__.py").read_text())
    late = {
        name for node in tree.body if isinstance(node, ast.If) for one in node.body for name in _names(one)
    }
    assert late == {*SIGNATURES, *CLASSES, "ParkfError"}


def _names(node):
    return {alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else set()


def test_every_public_module_has_a_page():
    pages = {path.stem for path in (ROOT / "docs/reference/python").glob("*.md")} - {"index"}
    modules = {path.stem for path in (ROOT / "src/parkf/api").glob("*.py")} - {"__init__"}
    assert pages == modules
    for page in pages:
        text = (ROOT / f"docs/reference/python/{page}.md").read_text()
        assert re.search(rf"^::: parkf\.api\.{page}$", text, re.M)


def test_the_lines_from_a_wheel_to_the_first_tracks_run(tmp_path):
    page = (ROOT / "docs/how-to/install.md").read_text()
    program = page.partition("python - <<'END'\n")[2].partition("END\n")[0]
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("400 tracks; momenta in MeV: [")
