"""Bad parameter sets, trigger files, registries, and intermediate files of a run."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from parkf.params import load

from .case import ROOT, SET, Case, command, file, replaced

GATES = ("--gates", ROOT / "workflow/config/gates.yaml")
SHOW = ("params", "show", "./set")


def manifest(wrong: str, change: tuple[str, str] | Callable[[Path], object]) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        shutil.copytree(SET, folder / "set")
        if callable(change):
            change(folder / "set")
        else:
            path = folder / "set/manifest.json"
            path.write_text(replaced(path.read_text(), change))
        return SHOW

    return Case("parameter set", wrong, make, 2)


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


def trigger(wrong: str, text: str) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        (folder / "params.json").write_text(text)
        return ("params", "import", ".", "made")

    return Case("trigger's files", wrong, make, 2)


def _run(name: str, text: str) -> Callable[[Path], Sequence[str | Path]]:
    def make(folder: Path) -> Sequence[str | Path]:
        (folder / "run").mkdir()
        shutil.copytree(SET, folder / "run/set")
        for one in ("validation.json", "accuracy.json"):
            (folder / "run" / one).write_text("{}")
        (folder / "run" / name).write_text(text)
        return ("gate", "run", *GATES)

    return make


CASES = [
    manifest("no manifest", lambda folder: (folder / "manifest.json").unlink()),
    manifest("no numbers", lambda folder: (folder / "constant.f32").unlink()),
    manifest("truncated numbers", _truncated("constant.f32")),
    manifest("truncated table", _truncated("global.f32")),
    manifest("flipped bit", _flipped("global.f32")),
    manifest("flipped bit in the manifest", _flipped_manifest),
    manifest("no JSON", ("{", "{,")),
    manifest("key twice", ('"source"', '"source": "x", "source"')),
    manifest("NaN", ('"velo_sigma": 0.0125', '"velo_sigma": NaN')),
    manifest("unknown key", ('"source"', '"sauce": 1, "source"')),
    manifest("sigma 0", ('"velo_sigma": 0.0125', '"velo_sigma": 0')),
    manifest("sigma of text", ('"velo_sigma": 0.0125', '"velo_sigma": "x"')),
    manifest("deep", lambda folder: (folder / "manifest.json").write_text("[" * 10**5)),
    manifest("no UTF-8", lambda folder: (folder / "manifest.json").write_bytes(b'{"source": "\xff"}')),
    Case("parameter set", "no such version", command("params", "show", "2026-x-r001"), 2),
    Case("parameter set", "no version's name", command("params", "show", "best"), 2),
    Case("parameter set", "a path upwards", command("params", "show", "../x"), 2),
    Case("parameter set", "of a fit", command("fit", "./set", "c.parquet", "x.parquet")),
    Case("registry", "run of text", command("params", "for", "yesterday"), 2),
    Case("registry", "time without its zone", command("params", "for", "2026-05-03T12:00"), 2),
    trigger("no JSON", "{'VParams': 1}"),
    trigger("block twice", '{"VParams": [],\n "VParams": []}'),
    trigger("a list", "[]"),
    trigger("NaN", '{"VParams": [[NaN]]}'),
    Case("trigger's files", "missing", command("params", "import", ".", "made"), 2),
    Case(
        "trigger's files",
        "older ones without a set",
        file("params_predictV.txt", "VParams_0_ 1", "params", "import", ".", "made"),
        2,
    ),
    Case("run", "page without figures", _run("validation.json", "[]"), 2),
    Case("run", "figures that are no JSON", _run("accuracy.json", '{"a": 1'), 2),
    Case("run", "key twice in figures", _run("accuracy.json", '{"a": 1,\n"a": 2}'), 2),
    Case("run", "another checksum", _run("accuracy.json", json.dumps({"a": 1, "checksum": "sha256:0"})), 2),
    Case("run", "none", command("verify", "results/x")),
    Case("run", "nothing in it", lambda folder: ("verify", ".")),
    Case("run", "where none is", command("gate", "results/x", *GATES), 2),
]
