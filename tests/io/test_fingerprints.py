"""A change that may change a command's result changes the command's fingerprint; others do not."""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import typer
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parkf.cli.main import app
from parkf.io.errors import ParkfError
from parkf.io.fingerprints.code import Sources, code_of
from parkf.io.fingerprints.known import Known, cache_file
from parkf.io.fingerprints.meaning import is_file_of, meaning_of
from parkf.io.process_settings import environment
from parkf.io.project import PROJECT
from parkf.workflow.installation import found_compiler

from ..edits import KERNEL, PACKAGE, Edits, commented, rewritten


@pytest.fixture(scope="module")
def before(source_copy):
    return source_copy.codes()


def _callbacks(command, name=""):
    for word, inner in getattr(command, "commands", {}).items():
        below = f"{name} {word}".strip()
        yield from _callbacks(inner, below) if hasattr(inner, "commands") else [(below, inner.callback)]


def test_every_command_is_found_without_an_import():
    real = {name: function.__wrapped__ for name, function in _callbacks(typer.main.get_command(app))}
    found = Sources(PACKAGE, PROJECT, "parkf.cli.main").commands
    assert {name: (one.__module__, one.__name__) for name, one in real.items()} == {
        name: (module.name, statement.name) for name, (module, statement) in found.items()
    }


def test_the_installed_package_is_looked_at(before):
    assert code_of("simulate") == before["simulate"]
    assert re.fullmatch("[0-9a-f]{16}", code_of("import field"))
    assert code_of("fit", "gather") not in (code_of("fit"), code_of("gather"))
    with pytest.raises(ParkfError, match=r"no command 'simulat' of parkf; there are: .*simulate"):
        code_of("simulat")


@pytest.fixture
def known(tmp_path):
    """Create the cache of a folder with one source, as each process does."""
    source = tmp_path / "source/module.py"
    source.parent.mkdir()
    source.write_text("X = 1")
    old = time.time() - 60
    os.utime(source, (old, old))
    return lambda: Known(tmp_path / "cache/codes.json", [source.parent])


@pytest.fixture
def settled(monkeypatch):
    """Treat new sources as old; no test can set the time of their last change."""
    monkeypatch.setattr("parkf.io.fingerprints.known._SETTLED_NS", 0)


@pytest.mark.usefixtures("settled")
def test_fingerprints_are_known_until_a_source_changes(known, tmp_path):
    first, second = known(), known()
    first.codes["fit"] = 16 * "a"
    second.codes["close"] = 16 * "b"
    first.save()
    second.save()
    assert known().codes == {"fit": 16 * "a", "close": 16 * "b"}
    # A file that Python writes beside a source is not a source.
    (tmp_path / "source/module.pyc").touch()
    assert known().codes != {}
    source = tmp_path / "source/module.py"
    times = source.stat()
    source.write_text("X = 2")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert known().codes == {}
    source.with_name("more.py").touch()
    third = known()
    third.save()
    source.with_name("more.py").unlink()
    assert known().codes == {}
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["codes.json"]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda _: b"[1]",
        lambda _: b'{"state": 1, "codes": 2}',
        lambda content: content[:-9],
        lambda content: content.replace(b"aaaa", b"aaab"),
    ],
)
def test_a_damaged_cache_is_not_used(known, tmp_path, change):
    one = known()
    one.codes["fit"] = 16 * "a"
    one.save()
    path = tmp_path / "cache/codes.json"
    path.write_bytes(change(path.read_bytes()))
    again = known()
    assert again.codes == {}
    again.codes["fit"] = 16 * "a"
    again.save()
    assert known().codes == {"fit": 16 * "a"}


def test_sources_that_changed_just_now_are_not_cached(known, tmp_path):
    """Such sources may change again within the time resolution of the file system."""
    known().save()
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("settled")
def test_a_cache_that_cannot_be_written_is_no_error(known, tmp_path):
    (tmp_path / "cache").touch()
    known().save()
    assert known().codes == {}


def test_the_cache_is_in_the_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = cache_file([Path("a")])
    assert path.parent == tmp_path / "parkf"
    assert path != cache_file([Path("b")])
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_file([]).parent == Path.home() / ".cache/parkf"


def test_a_constant_that_hits_are_drawn_with_changes_what_draws_from_it(source_copy, before):
    """The rules `simulate_*` once used old hits after a change of this constant."""
    path = source_copy.package / "simulation/random_numbers.py"
    text = path.read_text().replace("RESPONSE = 4", "RESPONSE = 44")
    assert text != path.read_text()
    after = source_copy.codes_with(path, text, *before)
    changed = {name for name in before if after[name] != before[name]}
    assert "simulate" in changed
    assert changed.isdisjoint({"report", "gather", "fit", "field", "train-table", "validate"})


def test_a_command_is_not_made_of_what_it_does_not_use(source_copy, before):
    parts = {one.name.partition(":")[0] for one in source_copy.sources().parts_of("generate")}
    assert not [name for name in parts if name.startswith(("parkf.report", "parkf.training", "parkf.fit"))]
    # A module that all stages read also holds the tables of other stages.
    path = source_copy.package / "io/tables.py"
    text = path.read_text().replace('"closure-tracks",\n    1,', '"closure-tracks",\n    2,')
    assert text != path.read_text()
    after = source_copy.codes_with(path, text, "generate", "closure-tracks", "close")
    assert {name for name in after if after[name] != before[name]} == {"closure-tracks", "close"}


def test_what_runs_before_a_command_counts(source_copy, before):
    path = source_copy.package / "io/process_settings.py"
    for constant in ('"Haswell"', '"jemalloc"'):
        text = path.read_text().replace(constant, '"Zen"')
        after = source_copy.codes_with(path, text, *before)
        assert [name for name in before if after[name] == before[name]] == []


def test_a_wheel_has_the_fingerprints_of_its_checkout(source_copy, before, tmp_path):
    package = tmp_path / "parkf"
    shutil.copytree(source_copy.package, package)
    shutil.copytree(source_copy.project / "params/layouts", package / "params/layouts")
    for name in ("workflow", "data", "src/kernel"):
        shutil.copytree(source_copy.project / name, package / "shipped" / name)
    installed = Sources(package, package / "shipped", "parkf.cli.main")
    assert {name: installed.code_of(name) for name in before} == before


def test_texts_for_people_change_nothing(source_copy, before):
    """The comments, docstrings and formatting of all sources change at once, and no fingerprint does."""
    count = 0
    originals = {}
    for path in sorted(source_copy.project.rglob("*")):
        change = {".py": rewritten, ".hpp": commented, ".cpp": commented, ".cu": commented}.get(path.suffix)
        if path.suffix == ".cmake":
            change = "# A comment.\n{}".format
        elif path.suffix in (".yaml", ".yml"):
            change = "# A comment.\n\n{}".format
        if change is not None and path.is_file():
            originals[path] = path.read_text()
            path.write_text(change(originals[path]))
            count += 1
    try:
        after = source_copy.codes(*before)
    finally:
        for path, text in originals.items():
            path.write_text(text)
    assert {name for name in before if after[name] != before[name]} == set()
    print(f"\n{count} files rewritten: 0 of {len(before)} commands changed")


def test_texts_of_errors_and_help_change_nothing(source_copy, before):
    path = source_copy.package / "cli/commands/simulation.py"
    text = path.read_text().replace("Mean inelastic pp collisions a crossing.", "How many.")
    text = text.replace("generate: {events} events", "now: {events} events")
    assert text != path.read_text()
    assert source_copy.codes_with(path, text, *before) == before
    path = source_copy.package / "io/tables.py"
    text = re.sub(r'(raise ParkfError\(\s*f?")', r"\1Now: ", path.read_text())
    assert text != path.read_text()
    assert source_copy.codes_with(path, text, "gather") == {"gather": before["gather"]}


def test_texts_of_errors_count_where_they_are_read(tmp_path):
    write = {
        "__init__.py": "",
        "cli.py": "import typer\nfrom toy import work\napp = typer.Typer()\n"
        "@app.command()\ndef go():\n    work.go()\n@app.command()\ndef look():\n    work.look()\n"
        "def main():\n    app()\n",
        "work.py": "class OwnError(ValueError):\n    pass\n"
        "def go():\n    raise OwnError('too small')\n"
        "def look():\n    try:\n        go()\n    except ValueError as error:\n        return str(error)\n",
    }
    package = tmp_path / "toy"
    package.mkdir()
    for name, text in write.items():
        (package / name).write_text(text)
    codes = [Sources(package, tmp_path, "toy.cli").code_of(name) for name in ("go", "look")]
    (package / "work.py").write_text(write["work.py"].replace("too small", "too big"))
    again = [Sources(package, tmp_path, "toy.cli").code_of(name) for name in ("go", "look")]
    assert again[0] == codes[0]
    assert again[1] != codes[1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "from math import sin as f\ndef go():\n    return f(1)\n",
            "from math import cos as f\ndef go():\n    return f(1)\n",
        ),
        ("X = 1\ndef go():\n    return X\n", "X = 1\nX += 1\ndef go():\n    return X\n"),
        ("X = {}\ndef go():\n    return X\n", "X = {}\nX['a'] = 1\ndef go():\n    return X\n"),
        (
            "X = []\ndef go():\n    return X\n",
            "X = []\nfor i in (1, 2):\n    X.append(i)\ndef go():\n    return X\n",
        ),
        (
            "X = []\ndef add(to):\n    to.append(1)\ndef go():\n    return X\n",
            "X = []\ndef add(to):\n    to.append(1)\nadd(X)\ndef go():\n    return X\n",
        ),
        (
            "def f(x):\n    return x\ndef go():\n    raise ValueError(f('a'))\n",
            "def f(x):\n    return x\ndef go():\n    raise ValueError(f('b'))\n",
        ),
        ("def go():\n    return 1\n", "import sys\nsys.setrecursionlimit(5)\ndef go():\n    return 1\n"),
        ("def go():\n    from toy import other\n", "def go():\n    from toy import more\n"),
        (
            "def go():\n    from toy import other as a, more as b\n    return a.f(b.f)\n",
            "def go():\n    from toy import more as a, other as b\n    return a.f(b.f)\n",
        ),
        ("def go():\n    return 1\n", "def go():\n    return 1.0\n"),
        ("def go():\n    return 1\n", "def go():\n    return True\n"),
        ("X = 1\nX = 2\ndef go():\n    return X\n", "X = 2\nX = 1\ndef go():\n    return X\n"),
        (
            "import os\nos.umask(1)\nos.umask(2)\ndef go():\n    return 1\n",
            "import os\nos.umask(2)\nos.umask(1)\ndef go():\n    return 1\n",
        ),
        (
            "class A:\n    x: int\ndef go():\n    return A\n",
            "class A:\n    x: float\ndef go():\n    return A\n",
        ),
        ("def go():\n    return open('data/a.txt')\n", "def go():\n    return open('data/b.txt')\n"),
        ("def go(a, *, b=1):\n    return 1\n", "def go(a, b=1):\n    return 1\n"),
    ],
)
def test_what_changes_a_result_is_seen(tmp_path, first, second):
    package = tmp_path / "toy"
    package.mkdir()
    for name, text in {
        "__init__.py": "",
        "other.py": "def f(x):\n    return 1\n",
        "more.py": "import os\nos.environ['A'] = 'b'\ndef f(x):\n    return 2\n",
        "cli.py": "import typer\nfrom toy.work import go as run\napp = typer.Typer()\n"
        "@app.command()\ndef go():\n    run()\ndef main():\n    app()\n",
    }.items():
        (package / name).write_text(text)
    codes = []
    for text in (first, second):
        (package / "work.py").write_text(text)
        codes.append(Sources(package, tmp_path, "toy.cli").code_of("go"))
    assert codes[0] != codes[1]


def test_files_that_a_module_names_count(source_copy, before):
    path = source_copy.package / "report/templates/style.css"
    after = source_copy.codes_with(path, path.read_text() + "p { color: red }\n", "report", "generate")
    assert (after["report"] == before["report"], after["generate"] == before["generate"]) == (False, True)
    # The start of Pythia is a file that is read by the module of `generate` only.
    start = next((source_copy.package / "simulation/generate").glob("*.dat"))
    after = source_copy.codes_with(start, start.read_text() + "1", "generate", "simulate")
    assert (after["generate"] == before["generate"], after["simulate"] == before["simulate"]) == (False, True)


# A command that calls each compiled module.
CALLS = {
    "_transport": "simulate",
    "_pattern": "candidates",
    "_full_fit": "fit-full",
    "_fitter": "fit",
    "_figures": "validate",
}


def _compiled_from(compiler, module):
    """Return the project's files that a compiler reads for a module, except generated headers."""
    cmake = next(
        path for path in KERNEL.rglob("*.cmake") if f"add_kernel_module({module} " in path.read_text()
    )
    sources = [KERNEL / f"bindings/{module.removeprefix('_')}.cpp"]
    folder = cmake.parent
    sources += [
        one
        for one in folder.glob("*.cpp")
        if "_lanes" in one.name or one.name in ("carriers.cpp", "forms.cpp")
    ]
    done = subprocess.run(
        [compiler, "-std=c++17", "-MM", "-MG", f"-I{KERNEL}", *map(str, sources)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = {Path(word) for word in re.split(r"[\s\\]+", done.stdout) if word.startswith(str(KERNEL))}
    return {*found, *sources, cmake, KERNEL / "numbers/instruction_sets.cmake"}


@pytest.mark.parametrize("module", CALLS)
def test_every_source_that_a_compiler_reads_counts(source_copy, before, module):
    compiler = found_compiler()
    if compiler is None:
        pytest.skip("no C++ compiler is installed")
    command = CALLS[module]
    files = _compiled_from(compiler, module)
    assert len(files) > 3
    for file in files:
        path = source_copy.project / "src" / file.relative_to(PROJECT / "src")
        assert source_copy.codes_with(path, f"{path.read_text()}\nint more = 1;\n", command) != {
            command: before[command]
        }, file
    print(f"\n{module}: {len(files)} of {len(files)} C++ files change `{command}`")


def test_formulas_and_published_layouts_count_for_what_is_generated_from_them(source_copy, before):
    for path in (
        source_copy.package / "model/steps/ut.py",
        source_copy.package / "model/codegen/cpp_magnet.py",
        next((source_copy.project / "params/layouts").iterdir()),
    ):
        text = path.read_text()
        if path.suffix == ".py":
            edits = Edits(text)
            one = next(one for tree in edits.functions().values() for one in edits.constants(tree))
            text = edits.changed(one)
        else:
            text = re.sub(r'"layout_version": (\d+)', r'"layout_version": 9\1', text)
        after = source_copy.codes_with(path, text, "fit", "simulate")
        assert (after["fit"] == before["fit"], after["simulate"] == before["simulate"]) == (False, True)


def test_a_name_that_is_gone_is_an_error(source_copy):
    path = source_copy.package / "simulation/response/simulate.py"
    text = path.read_text().replace(
        "from parkf.simulation.particles import", "from parkf.simulation.gone import"
    )
    assert text != path.read_text()
    with pytest.raises(ParkfError, match=r"parkf\.simulation\.gone: no such module"):
        source_copy.codes_with(path, text, "simulate")


def test_the_environment_has_what_numbers_depend_on():
    assert {"python", "machine", "linear algebra", "numpy"} <= environment().keys()


def test_the_environment_is_that_of_the_moment(monkeypatch):
    """A process reads it before its settings are made, and after."""
    for kernels in ("Haswell", "Zen"):
        monkeypatch.setenv("OPENBLAS_CORETYPE", kernels)
        assert environment()["linear algebra"] == kernels


@pytest.mark.parametrize(
    "name",
    [
        "data/geometry/run3.yaml",
        "data/geometry/alignment_nominal.yaml",
        "workflow/config/default.yaml",
        "workflow/config/gates.yaml",
    ],
)
def test_a_comment_in_a_document_means_nothing(tmp_path, name):
    text = (PROJECT / name).read_text()
    path = tmp_path / Path(name).name
    path.write_text("# A comment.\n\n" + text.replace("\n", "  # why\n", 1) + "\n# The end.\n")
    assert meaning_of(path) == meaning_of(PROJECT / name)
    path.write_text(yaml.safe_dump(yaml.safe_load(text), default_style='"' if "gates" in name else None))
    again = yaml.safe_load(path.read_text()) == yaml.safe_load(text)
    assert (meaning_of(path) == meaning_of(PROJECT / name)) == again
    assert is_file_of(path, meaning_of(path))


CONDITIONS = """\
FT: !alignment
  position: [1.0 * mm, 2, 0.]
  rotation: [0.0, 0.0, 1.e-3]
"""


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (f"# A comment\n{CONDITIONS}", True),
        (CONDITIONS.replace("[1.0 * mm, 2, 0.]", "[ 1.0 * mm,  2.0, 0.0 ]  # why"), True),
        ("FT: !alignment\n  rotation: [0.0, 0.0, 0.001]\n  position:\n  - 1.0 * mm\n  - 2\n  - 0\n", True),
        (CONDITIONS.replace("2", "3"), False),
        (CONDITIONS.replace("mm", "cm"), False),
        (CONDITIONS.replace("!alignment", "!other"), False),
        (CONDITIONS.replace("2, 0.", "010, 0."), False),
    ],
)
def test_conditions_count_by_their_content(tmp_path, other, same):
    one, two = tmp_path / "a.yml", tmp_path / "b.yml"
    one.write_text(CONDITIONS)
    two.write_text(other)
    assert (meaning_of(one) == meaning_of(two)) == same


def test_a_number_of_another_base_is_another_number(tmp_path):
    """YAML reads 010 as eight, but conditions keep its digits."""
    one, two = tmp_path / "a.yml", tmp_path / "b.yml"
    one.write_text(CONDITIONS.replace("2, 0.", "010, 0."))
    two.write_text(CONDITIONS.replace("2, 0.", "8, 0."))
    assert meaning_of(one) != meaning_of(two)


def test_what_is_no_document_counts_by_its_bytes(tmp_path):
    for name in ("a.npz", "b.yaml", "c.json"):
        path = tmp_path / name
        path.write_text("{a: [1,")
        first = meaning_of(path)
        path.write_text("{a: [1, ")
        assert meaning_of(path) != first
    with pytest.raises(ParkfError, match="no such file"):
        meaning_of(tmp_path / "none.yaml")
    with pytest.raises(ParkfError, match="no such file"):
        meaning_of(tmp_path / "none.npz")


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def _meaning(folder, text, kind="json"):
    path = folder / f"document.{kind}"
    path.write_text(text)
    return meaning_of(path)


def _shuffled(value, draw):
    if isinstance(value, dict):
        items = list(value.items())
        draw.shuffle(items)
        return {key: _shuffled(inner, draw) for key, inner in items}
    return [_shuffled(inner, draw) for inner in value] if isinstance(value, list) else value


def _alike(one, two):
    """Whether two contents are equal; truth values differ from numbers, and so do zeros of both signs."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_alike(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_alike, one, two))
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (one, two)]
    if all(numbers):
        return one == two and (one != 0 or str(one).startswith("-") == str(two).startswith("-"))
    return type(one) is type(two) and one == two


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("documents")


@given(VALUES, st.randoms(use_true_random=False))
def test_order_blanks_and_format_mean_nothing(folder, value, draw):
    text = json.dumps(value)
    other = json.dumps(
        _shuffled(value, draw), indent=draw.choice([None, 2]), ensure_ascii=draw.choice([True, False])
    )
    assert _meaning(folder, text) == _meaning(folder, f" {other}\n")
    dumped = yaml.safe_dump(
        _shuffled(value, draw),
        allow_unicode=True,
        default_flow_style=draw.choice([True, False, None]),
        sort_keys=False,
    )
    # YAML's writer writes some texts in a form that its reader takes for numbers.
    if _alike(yaml.safe_load(dumped), value):
        assert _meaning(folder, dumped, "yaml") == _meaning(folder, text)
        assert _meaning(folder, f"# A comment.\n{dumped}", "yaml") == _meaning(folder, text)


@given(VALUES, VALUES)
def test_other_contents_have_other_fingerprints(folder, one, two):
    assert (_meaning(folder, json.dumps(one)) == _meaning(folder, json.dumps(two))) == _alike(one, two)


@given(VALUES, st.randoms(use_true_random=False))
def test_a_change_anywhere_is_seen(folder, value, draw):
    wrapped = {"inside": [value, {"deep": 1}]}
    places = []

    def walk(content, path):
        places.append(path)
        items = (
            content.items()
            if isinstance(content, dict)
            else enumerate(content)
            if isinstance(content, list)
            else ()
        )
        for key, inner in items:
            walk(inner, (*path, key))

    walk(wrapped, ())
    *above, last = draw.choice(places[1:])
    changed = json.loads(json.dumps(wrapped))
    inner = changed
    for key in above:
        inner = inner[key]
    inner[last] = "something else entirely"
    assert _meaning(folder, json.dumps(changed)) != _meaning(folder, json.dumps(wrapped))


@given(st.integers(-(2**53), 2**53))
def test_whole_numbers_mean_the_same_with_a_point(folder, number):
    assert _meaning(folder, f"[{number}]") == _meaning(folder, f"[{number}.0]")
    assert _meaning(folder, f"[{number}]") != _meaning(folder, f'["{number}"]')
