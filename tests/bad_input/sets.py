"""Bad parameter sets, trigger files, registries, and intermediate files of a run."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from parkf.params import load

from .case import ROOT, SET, Case, command, file, replaced

SHOW = ("params", "show", "./set")


def manifest(wrong: str, change: tuple[str, str] | Callable[[Path], object], *says: str) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        shutil.copytree(SET, folder / "set")
        if callable(change):
            change(folder / "set")
        else:
            path = folder / "set/manifest.json"
            path.write_text(replaced(path.read_text(), change))
        return SHOW

    return Case("parameter set", wrong, make, ("set/", *says), 2)


def _truncated(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-4])


def _flipped(name: str) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[100] ^= 1
        (folder / name).write_bytes(bytes(content))

    return spoil


def _flipped_manifest(folder: Path) -> None:
    """Change a digit of a number in a manifest of today's format."""
    load(SET).save(folder)
    path = folder / "manifest.json"
    path.write_text(replaced(path.read_text(), ('"velo_sigma": 0.0125', '"velo_sigma": 0.0135')))


def trigger(wrong: str, text: str, *says: str) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        (folder / "params.json").write_text(text)
        return ("params", "import", ".", "made")

    return Case("trigger's files", wrong, make, ("params.json: ", *says), 2)


def _run(name: str, text: str) -> Callable[[Path], Sequence[str | Path]]:
    def make(folder: Path) -> Sequence[str | Path]:
        (folder / "run").mkdir()
        shutil.copytree(SET, folder / "run/set")
        for one in ("validation.json", "accuracy.json"):
            (folder / "run" / one).write_text("{}")
        (folder / "run" / name).write_text(text)
        return ("gate", "run", "--gates", ROOT / "workflow/config/gates.yaml")

    return make


CASES = [
    manifest(
        "no manifest", lambda folder: (folder / "manifest.json").unlink(), "manifest.json: no such file"
    ),
    manifest("no numbers", lambda folder: (folder / "constant.f32").unlink(), "constant.f32: no such file"),
    manifest("truncated numbers", _truncated("constant.f32"), "bytes, expected"),
    manifest("truncated table", _truncated("global.f32"), "bytes, expected 960000"),
    manifest("flipped bit", _flipped("global.f32"), "global.f32: sha256", "the manifest says"),
    manifest(
        "flipped bit in the manifest",
        _flipped_manifest,
        "manifest.json: not a manifest as it was written: the content does not have the checksum",
    ),
    manifest("no JSON", ("{", "{,"), "manifest.json:1: not a JSON file"),
    manifest("key twice", ('"source"', '"source": "x", "source"'), "key 'source' is there twice", "line"),
    manifest("NaN", ('"velo_sigma": 0.0125', '"velo_sigma": NaN'), "got NaN, expected a finite number"),
    manifest(
        "unknown key",
        ('"source"', '"sauce": 1, "source"'),
        "sauce: unknown key 'sauce'; did you mean 'source'",
    ),
    manifest(
        "sigma 0", ('"velo_sigma": 0.0125', '"velo_sigma": 0'), "velo_sigma: got 0, expected more than 0"
    ),
    manifest(
        "sigma of text",
        ('"velo_sigma": 0.0125', '"velo_sigma": "x"'),
        "velo_sigma: got the text 'x', expected a number",
    ),
    manifest(
        "deep",
        lambda folder: (folder / "manifest.json").write_text("[" * 10**5),
        "manifest.json: not a JSON file that can be read: nested more than 64 deep",
    ),
    manifest(
        "no UTF-8",
        lambda folder: (folder / "manifest.json").write_bytes(b'{"source": "\xff"}'),
        "manifest.json:1: byte 0xff is no UTF-8",
    ),
    Case(
        "parameter set",
        "no such version",
        command("params", "show", "2026-x-r001"),
        ("no version 2026-x-r001",),
        2,
    ),
    Case(
        "parameter set",
        "no version's name",
        command("params", "show", "best"),
        ("'best', expected a name such",),
        2,
    ),
    Case(
        "parameter set",
        "a path upwards",
        command("params", "show", "../x"),
        ("../x/manifest.json: no such",),
        2,
    ),
    Case(
        "parameter set",
        "of a fit",
        command("fit", "./set", "c.parquet", "x.parquet"),
        ("set/manifest.json: no",),
    ),
    Case(
        "registry", "run of text", command("params", "for", "yesterday"), ("'yesterday'", "expected a run"), 2
    ),
    Case(
        "registry",
        "time without its zone",
        command("params", "for", "2026-05-03T12:00"),
        ("without its zone",),
        2,
    ),
    trigger("no JSON", "{'VParams': 1}", "not a JSON file", "line 1"),
    trigger("block twice", '{"VParams": [],\n "VParams": []}', "key 'VParams' is there twice", "line 2"),
    trigger("block missing", "{}", "block ", "is missing"),
    trigger("a list", "[]", "expected a JSON object, got list"),
    trigger("NaN", '{"VParams": [[NaN]]}', "got NaN, expected a finite number", "line 1"),
    Case(
        "trigger's files",
        "missing",
        command("params", "import", ".", "made"),
        ("params.json: no such file",),
        2,
    ),
    Case(
        "trigger's files",
        "older ones without a set",
        file("params_predictV.txt", "VParams_0_ 1", "params", "import", ".", "made"),
        ("name a set with --rest",),
        2,
    ),
    Case(
        "run",
        "page without figures",
        _run("validation.json", "[]"),
        ("run/validation.json: does not say which set", "run the validation again"),
        2,
    ),
    Case(
        "run",
        "figures that are no JSON",
        _run("accuracy.json", '{"a": 1'),
        ("accuracy.json: not a JSON file",),
        2,
    ),
    Case(
        "run",
        "key twice in figures",
        _run("accuracy.json", '{"a": 1,\n"a": 2}'),
        ("key 'a' is there twice",),
        2,
    ),
    Case(
        "run",
        "another checksum",
        _run("accuracy.json", json.dumps({"a": 1, "checksum": "sha256:0"})),
        ("does not have the checksum that it says", "make it again"),
        2,
    ),
    Case("run", "none", command("verify", "results/x"), ("results/x: no such folder",)),
    Case(
        "run", "nothing in it", lambda folder: ("verify", "."), ("nothing to verify; expected results/<run>",)
    ),
    Case(
        "run",
        "where none is",
        command("where", "results/x", "--gates", ROOT / "workflow/config/gates.yaml"),
        ("no such file",),
    ),
]
