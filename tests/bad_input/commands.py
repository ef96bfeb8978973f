"""Bad options and arguments of commands, and errors of the operating system."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .case import ROOT, Case, command, staged

GEOMETRY = ("--geometry", ROOT / "data/geometry/run3.yaml")
DETECTOR = (*GEOMETRY, "--alignment", ROOT / "data/geometry/alignment_nominal.yaml", "--field", "field.npz")
FIND = ("candidates", "h.parquet", "x.parquet", *DETECTOR)
FIELD = ("field", ROOT / "data/field/dipole.json", "field.npz")
TRAIN: dict[str, Any] = {"datasets": [Path("d.parquet")], "outputs": [Path("x.json")]}


def usage(wrong: str, *arguments: str | Path, says: Sequence[str]) -> Case:
    return Case("command line", wrong, command(*arguments), tuple(says), 2)


def _file_for_a_folder(folder: Path) -> Sequence[str | Path]:
    (folder / "results").write_text("")
    return ("field", ROOT / "data/field/dipole.json", "results/field.npz", "--spacing", "500")


def _folder_for_a_file(folder: Path) -> Sequence[str | Path]:
    (folder / "field.npz").mkdir()
    return (*FIELD, "--spacing", "500")


CASES = [
    usage("no such command", "fitt", says=["No such command 'fitt'", "parkf --help"]),
    usage("no such option", *FIND, "--plority", "1", says=["--plority", "parkf candidates --help"]),
    usage("argument missing", "fit", says=["Missing argument", "parkf fit --help"]),
    usage("option missing", *FIND, says=["Missing option '--polarity'", "parkf candidates --help"]),
    usage("spacing of text", *FIELD, "--spacing", "many", says=["--spacing", "parkf field --help"]),
    usage("negative event", "display", "run", "x.html", "--event", "-5", says=["--event", "parkf"]),
    usage("year 99", "params", "publish", "set", "--year", "99", says=["--year", "2000"]),
    usage("no threads", "fit", "s", "c", "f", "--threads", "0", says=["--threads", "parkf"]),
    usage("polarity 3", *FIND, "--polarity", "3", says=["--polarity", "+1 (MagUp) or -1"]),
    usage("unknown scheme", "fit", "s", "c", "f", "--scheme", "best", says=["--scheme", "parkf fit --help"]),
    usage("cut NaN", "fit", "s", "c", "f", "--outliers", "nan", says=["--outliers"]),
    Case(
        "stage",
        "a field without a geometry",
        staged("train", **TRAIN, steps=["T"], field=Path("field.npz")),
        ("got --field or --geometry alone, expected both or neither",),
    ),
    Case(
        "stage",
        "two datasets of a step",
        staged("train", **(TRAIN | {"datasets": [Path("a.parquet"), Path("b.parquet")]}), steps=["V"]),
        ("got 2 files of step V, expected one",),
    ),
    Case("stage", "part 9 of 2", staged("train", **TRAIN, steps=["V"], part="9-of-2"), ("part '9-of-2'",)),
    Case(
        "stage",
        "unknown step",
        staged("train", **TRAIN, steps=["MAG"]),
        ("step 'MAG' does not exist, expected one of V",),
    ),
    Case(
        "stage",
        "a set without its manifest",
        staged("throughput", set=[Path("set/global.f32")], candidates=[], output=Path("x.json")),
        ("got no file, expected files of one folder",),
    ),
    Case("system", "a file for a folder", _file_for_a_folder, ("results", "is a file, expected a folder")),
    Case(
        "system",
        "a folder for a file",
        _folder_for_a_file,
        ("field.npz", "is a folder, expected a file to write"),
    ),
    Case(
        "system",
        "a folder that takes no files",
        command("field", ROOT / "data/field/dipole.json", "/proc/x/field.npz", "--spacing", "500"),
        ("/proc/x", "no such folder, expected a folder; make it"),
    ),
]
