"""What can change a result changes the key of a module; comments, docstrings and other modules do not."""

import importlib.util
import os
import re

import pytest

from parkf.io.fingerprints import code_key, sources
from parkf.io.project import PROJECT

FILES = {
    "src/toy/__init__.py": "",
    "src/toy/stage/__init__.py": '"""Stages."""\n',
    "src/toy/stage/fit.py": '''\
"""Fits."""

from typing import TYPE_CHECKING

import toy._kernel
from toy.math import lines

if TYPE_CHECKING:
    from toy.stage import other

SCHEMA = "data/limits.yaml"


def run(x: float) -> float:
    """Run."""
    from toy.math.curves import bend

    return bend(x) + lines.slope(x)  # why
''',
    "src/toy/stage/other.py": "import toy.stage.fit\n",
    "src/toy/stage/late.py": 'from importlib import import_module\nimport_module("toy.math.far")\n',
    "src/toy/math/__init__.py": "",
    "src/toy/math/lines.py": "from toy.math import curves\n\n\ndef slope(x):\n    return 2 * x\n",
    "src/toy/math/curves.py": "from toy.math.lines import slope\n\n\ndef bend(x):\n    return x**2\n",
    "src/toy/math/far.py": "X = 1\n",
    "src/toy/math/table.txt": "1 2\n",
    "src/toy/codegen/__init__.py": "",
    "src/toy/codegen/__main__.py": "print('float one = 1;')\n",
    "data/limits.yaml": "low: 1\nhigh: 2\n",
    "data/more.yaml": "low: 1\n",
    "params/layouts/1.json": '{"layout": 1}',
    "src/kernel/numbers/flags.cmake": "set(flags -O2)\n",
    "src/kernel/fit/fit.cmake": "add_kernel_module(_kernel src/kernel/bindings/kernel.cpp)\n"
    "run(-m toy.codegen params/layouts)\nforeach(part a)\n  add(src/kernel/fit/${part}_lanes.cpp)\n",
    "src/kernel/bindings/kernel.cpp": '#include "fit/fit.hpp"\n#include "generated.hpp"\nint x = 1;\n',
    "src/kernel/fit/a_lanes.cpp": "int lanes = 4;\n",
    "src/kernel/fit/fit.hpp": '#pragma once\n#include "state.hpp"\n',
    "src/kernel/fit/state.hpp": '#define SIZE 5\nconst char *text = "a // b";\nint many = 1\'000;\n',
    "src/kernel/fit/unused.hpp": "int unused = 1;\n",
}
FIT = "toy.stage.fit"


class Toy:
    """A project whose sources tests may change."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder / "project"
        self.cache = self.folder / "build/code_keys.json"
        monkeypatch.setattr(sources, "PROJECT", self.folder)
        monkeypatch.setattr(sources, "PACKAGE", self.folder / "src/toy")
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def process(self, *, is_checkout=True):
        """The module as a new process has it."""
        spec = importlib.util.spec_from_file_location("code_key", code_key.__file__)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.PROJECT, module.IS_CHECKOUT = self.folder, is_checkout
        return module

    def key(self, *modules):
        return self.process().code_key(*modules or (FIT,))


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return Toy(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("src/toy/stage/fit.py", "  # why", ""),
        ("src/toy/stage/fit.py", '    """Run."""\n', '    """Run it\n    far.\n    """\n'),
        ("src/toy/stage/fit.py", "bend(x) + lines.slope(x)", "(\n        bend(x) + lines.slope( x ))"),
        ("src/toy/stage/fit.py", "from toy.stage import other", "from toy.math import far"),
        ("src/toy/stage/__init__.py", '"""Stages."""', '"""Other words."""'),
        ("src/toy/stage/other.py", "import", "X = 2\nimport"),
        ("src/toy/math/far.py", "1", "2"),
        ("data/limits.yaml", "low: 1\nhigh: 2", "# The limits.\nhigh: 2.0\nlow: 1"),
        ("data/more.yaml", "1", "2"),
        ("src/kernel/fit/state.hpp", "#define", "// Size /* of\n\n/* a\n state */\n  #define  "),
        ("src/kernel/fit/unused.hpp", "1", "2"),
        ("src/kernel/fit/fit.cmake", "run", "# All.\nrun"),
    ],
)
def test_comments_format_and_what_is_not_used_change_nothing(toy, name, old, new):
    before = toy.key()
    assert old in FILES[name]
    toy.write(name, FILES[name].replace(old, new))
    assert toy.key() == before
    assert re.fullmatch("[0-9a-f]{16}", before)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("src/toy/stage/fit.py", "bend(x) +", "bend(x) -"),
        ("src/toy/stage/__init__.py", '"""Stages."""', "X = 1"),
        ("src/toy/__init__.py", "", "X = 1"),
        ("src/toy/math/lines.py", "2 * x", "3 * x"),
        ("src/toy/math/lines.py", "2 * x", "2.0 * x"),
        ("src/toy/math/curves.py", "x**2", "x**3"),
        ("src/toy/math/table.txt", "1 2", "1 3"),
        ("src/toy/codegen/__main__.py", "one", "two"),
        ("data/limits.yaml", "1", "3"),
        ("params/layouts/1.json", "1", "2"),
        ("src/kernel/numbers/flags.cmake", "-O2", "-O3"),
        ("src/kernel/fit/fit.cmake", "part a", "part b"),
        ("src/kernel/bindings/kernel.cpp", "x = 1", "x = 2"),
        ("src/kernel/fit/a_lanes.cpp", "4", "8"),
        ("src/kernel/fit/state.hpp", "SIZE 5", "SIZE\n5"),
        ("src/kernel/fit/state.hpp", "a // b", "a // c"),
        ("src/kernel/fit/state.hpp", "a // b", "a  // b"),
        ("src/kernel/fit/state.hpp", "1'000", "2'000"),
    ],
)
def test_what_a_module_uses_changes_its_key(toy, name, old, new):
    before = toy.key()
    toy.write(name, FILES[name].replace(old, new) or new)
    assert toy.key() != before


def test_new_files_count_where_they_are_found(toy):
    keys = [toy.key()]
    for name in ("src/toy/math/words/new.txt", "src/kernel/fit/b_lanes.cpp", "src/kernel/state.hpp"):
        toy.write(name, "more")
        keys.append(toy.key())
    assert keys[0] != keys[1] != keys[2] != keys[3]
    # The package takes the place of the module.
    toy.write("src/toy/math/curves/__init__.py", FILES["src/toy/math/curves.py"].replace("2", "3"))
    assert toy.key() != keys[3]


def test_a_module_that_a_call_names_counts(toy):
    before = toy.key("toy.stage.late"), toy.key()
    toy.write("src/toy/math/far.py", "X = 2\n")
    assert toy.key("toy.stage.late") != before[0]
    assert toy.key("toy.stage.late", FIT) not in (toy.key(FIT), toy.key("toy.stage.late"))
    assert toy.key() == before[1]


def test_keys_are_kept_until_a_source_changes(toy, monkeypatch):
    first = toy.process()
    keys = first.code_key(FIT), first.code_key("toy.math.far")
    again = toy.process()
    monkeypatch.setattr(again, "_read", None)
    assert (again.code_key(FIT), again.code_key("toy.math.far")) == keys
    toy.write("src/toy/math/far.py", "X = 2\n")
    assert toy.key("toy.math.far") != keys[1]
    assert toy.key() == keys[0]


@pytest.mark.parametrize("content", ["", "[1]", '{"state": 1, "keys": 2}', "cut", "edited"])
def test_a_damaged_cache_is_not_used(toy, content):
    key = toy.key()
    whole = toy.cache.read_text()
    toy.cache.write_text({"cut": whole[:-9], "edited": whole.replace(key, 16 * "a")}.get(content, content))
    assert toy.key() == key
    assert toy.cache.read_text() == whole


def test_a_cache_that_cannot_be_written_does_not_matter(toy):
    toy.cache.parent.touch()
    assert len(toy.key()) == 16


def test_an_installed_wheel_has_one_key(toy):
    keys = {toy.process(is_checkout=False).code_key(name) for name in (FIT, "toy.math.far")}
    assert len(keys) == 1
    (toy.folder / "src/toy/math/far.pyc").touch()
    assert {toy.process(is_checkout=False).code_key(FIT)} == keys
    toy.write("src/toy/math/far.py", "X = 1  # An edit.\n")
    assert {toy.process(is_checkout=False).code_key(FIT)} != keys


def test_a_source_that_was_edited_and_restored_is_noticed(toy):
    before = sources.sources_state()
    assert sources.sources_state() == before
    path = toy.folder / "src/toy/math/lines.py"
    of, text = path.stat(), path.read_bytes()
    path.write_bytes(text.replace(b"2", b"3"))
    path.write_bytes(text)
    os.utime(path, ns=(of.st_atime_ns, of.st_mtime_ns))
    state = sources.sources_state()
    assert state != before
    # Configurations are no code: users edit the next one while a run works.
    toy.write("data/limits.yaml", "low: 3\n")
    assert sources.sources_state() == state


def test_every_header_that_the_kernel_includes_counts():
    for name in ("_transport", "_pattern", "_figures", "_full_fit", "_fitter"):
        files, new = set(), code_key._files_of(f"parkf.{name}")
        while new:
            files, new = files | new, set().union(*(code_key._read(one)[1] for one in new)) - files - new
        is_generated = PROJECT / "src/parkf/model/steps/ut.py" in files
        assert is_generated == (name == "_fitter")
        for path in (one for one in files if one.suffix in (".hpp", ".cpp")):
            for header in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
                found = {path.parent / header, PROJECT / "src/kernel" / header} & files
                assert found or is_generated, f"{path} includes {header}"
