"""Adding a term as the how-to describes changes one file and leaves published sets as they were."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import example
import numpy as np
import parkf._fitter as _fitter
import pytest

from parkf.fit.fitted import INTEGERS, NUMBERS

ROOT = Path(__file__).parents[3]
PARAMS, SAMPLE = ROOT / "params", ROOT / "examples/candidates.parquet"
INSTALLED = Path(_fitter.__file__).parent
HOW_TO = (ROOT / "docs/how-to/formula.md").read_text()
LIKE = "2026-run3-like-2-r005"
FACTS = Path(__file__).with_name("published_facts.py")
# An editable installation finds its own modules before those on any path.
ELSEWHERE = (
    "import runpy, sys;"
    "sys.meta_path[:] = [f for f in sys.meta_path if 'Redirect' not in type(f).__name__];"
    "sys.path.insert(0, sys.argv.pop(1));"
)


def python(source, start, *arguments):
    """Run Python with the package's source from another folder.

    It writes no bytecode: two changes of the source within a second would have the same.
    """
    command = [sys.executable, "-B", "-c", ELSEWHERE + start, source, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def codegen(source, layouts, *folder):
    start = "runpy.run_module('parkf.model.codegen', run_name='__main__')"
    return python(source, start, layouts, *folder)


def edit(path, *, numbered):
    """Apply the how-to to a file: only the layout's number if `numbered`, otherwise everything but that."""
    (block,) = re.findall(r"```diff.*?\n(.*?)```", HOW_TO, re.DOTALL)
    lines = [line.removeprefix("    ") for line in block.rstrip().splitlines()]
    text = path.read_text()
    for old, new in zip(lines[::2], lines[1::2], strict=True):
        assert (old[0], new[0]) == ("-", "+")
        if ("layout" in new) == numbered:
            assert text.count(old[1:]) == 1
            text = text.replace(old[1:], new[1:])
    path.write_text(text)


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A copy of the source with the how-to's term, and the sources of its kernel."""
    source = tmp_path_factory.mktemp("changed")
    package = source / "parkf"
    shutil.copytree(ROOT / "src/parkf", package, ignore=shutil.ignore_patterns("*.so"))
    for built in INSTALLED.glob("*.so"):
        (package / built.name).symlink_to(built)
    for folder in ("fit", "numbers"):
        shutil.copytree(INSTALLED / "kernel" / folder, package / "kernel" / folder)
    (file,) = re.findall(r'```diff title="src/(.*?)"', HOW_TO)
    edit(source / file, numbered=False)
    layouts = PARAMS / "layouts"
    stopped = codegen(source, layouts)
    assert stopped.returncode == 1
    assert stopped.stderr.startswith("layout 3 is published; call this 4: ")
    assert stopped.stderr in HOW_TO
    edit(source / file, numbered=True)
    done = codegen(source, layouts, package / "kernel")
    assert done.returncode == 0, done.stderr
    return source


def test_the_kernel_of_published_layouts_is_the_same_source(changed):
    """The kernels for processors and GPUs are compared; no other part of a fit contains formulas."""
    made = changed / "parkf/kernel"
    names = {path.parent.name for path in made.glob("*/steps_generated.hpp")}
    assert names == {"improved", "improved_2", "improved_3", "production"}
    for name, own in (("improved_2", "improved_2"), ("improved_3", "improved"), ("production", "production")):
        text = (made / name / "steps_generated.hpp").read_text()
        text = text.replace(f"PARKF_FORMS {name}\n", f"PARKF_FORMS {own}\n")
        assert text == (INSTALLED / "kernel" / own / "steps_generated.hpp").read_text()
    assert "&improved_3::forms" in (made / "all_forms.hpp").read_text()


def test_published_sets_load_fit_export_and_compare_as_before(changed, tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        folder.mkdir()
    example.run(sys.executable, FACTS, PARAMS, SAMPLE, before)
    start = f"runpy.run_path({str(FACTS)!r}, run_name='__main__')"
    done = python(changed, start, PARAMS, SAMPLE, after)
    assert done.returncode == 0, done.stderr
    facts = json.loads((before / "facts.json").read_text())
    assert json.loads((after / "facts.json").read_text()) == facts
    layouts = {version: one["layout"] for version, one in facts.items() if "layout" in one}
    assert set(layouts.values()) == {1, 2, 3}
    assert json.loads((before / "today/manifest.json").read_text())["layout_version"] == 3
    assert json.loads((after / "today/manifest.json").read_text())["layout_version"] == 4

    # Compile a kernel from the formulas that were kept, as a user of the C++ header does.
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    flags = ["-std=c++17", "-O0", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
    source, program = example.EXAMPLES / "cpp/fit.cpp", tmp_path / "fit"
    example.run("g++", *flags, "-DPARKF_CALLS", "-Wno-psabi", "-pthread", f"-I{after}", source, "-o", program)
    tracks = tmp_path / "tracks.bin"
    example.run(sys.executable, example.EXAMPLES / "cpp/tracks.py", "write", SAMPLE, tracks)

    def fitted(parameters):
        sha256 = hashlib.sha256(parameters.read_bytes()).hexdigest()
        example.run(program, parameters, sha256, tracks, tmp_path / "fitted.bin")
        return (tmp_path / "fitted.bin").read_bytes()

    for version in layouts:
        expected = (before / f"{version}.fit").read_bytes()
        assert (after / f"{version}.fit").read_bytes() == expected
        assert fitted(after / f"{version}.parkf") == expected
    # A term that is 0 may change roundings, but nothing else.
    one, other = rows_of(fitted(after / "today.parkf")), rows_of((before / f"{LIKE}.fit").read_bytes())
    for name in ("x", "y", "tx", "ty", "qop"):
        moved = np.abs(one[name] - other[name]) / np.sqrt(other[name + name])
        assert moved.max() < 0.02, name


def rows_of(content):
    rows = np.frombuffer(content, np.float32).reshape(len(NUMBERS) + len(INTEGERS), -1)
    return dict(zip(NUMBERS, rows, strict=False))
