"""Bad options and arguments of commands, and errors of the operating system."""

from collections.abc import Callable, Sequence
from pathlib import Path

from .case import ROOT, Case, command

GEOMETRY = ("--geometry", ROOT / "data/geometry/run3.yaml")
DETECTOR = (*GEOMETRY, "--alignment", ROOT / "data/geometry/alignment_nominal.yaml", "--field", "field.npz")
GENERATE = ("generate", "x.parquet", *GEOMETRY)
SIMULATE = ("simulate", "p.parquet", *DETECTOR, "--states", "x.parquet")


def usage(wrong: str, *arguments: str | Path, says: Sequence[str]) -> Case:
    return Case("command line", wrong, command(*arguments), tuple(says), 2)


def _file_for_a_folder(folder: Path) -> Sequence[str | Path]:
    (folder / "results").write_text("")
    return ("field", ROOT / "data/field/dipole.json", "results/field.npz", "--spacing", "500")


def _folder_for_a_file(folder: Path) -> Sequence[str | Path]:
    (folder / "field.npz").mkdir()
    return ("field", ROOT / "data/field/dipole.json", "field.npz", "--spacing", "500")


def _assemble(option: str, text: str) -> Callable[[Path], Sequence[str | Path]]:
    return command(
        "assemble", "set", "--fits", "fits", "--table", "t.npz", *DETECTOR, "--seed", "1", option, text
    )


CASES = [
    usage("no such command", "fitt", says=["No such command 'fitt'", "parkf --help"]),
    usage("no such option", *GENERATE, "--evnts", "5", says=["--evnts", "parkf generate --help"]),
    usage("argument missing", "fit", says=["Missing argument", "parkf fit --help"]),
    usage(
        "option missing",
        *GENERATE,
        "--events",
        "5",
        says=["Missing option '--seed'", "parkf generate --help"],
    ),
    usage("events of text", *GENERATE, "--events", "many", "--seed", "1", says=["--events"]),
    usage("negative events", *GENERATE, "--events", "-5", "--seed", "1", says=["--events", "parkf"]),
    usage(
        "pile-up 10^6",
        *GENERATE,
        "--events",
        "5",
        "--seed",
        "1",
        "--pile-up",
        "1e6",
        says=["--pile-up", "200"],
    ),
    usage("pile-up NaN", *GENERATE, "--events", "5", "--seed", "1", "--pile-up", "nan", says=["--pile-up"]),
    usage("seed negative", *GENERATE, "--events", "5", "--seed", "-1", says=["--seed", "parkf"]),
    usage("no threads", "fit", "s", "c", "f", "--threads", "0", says=["--threads", "parkf"]),
    usage("polarity 3", *SIMULATE, "--polarity", "3", "--seed", "1", says=["--polarity", "+1 (MagUp) or -1"]),
    usage("unknown scheme", "fit", "s", "c", "f", "--scheme", "best", says=["--scheme", "parkf fit --help"]),
    usage(
        "a field without a geometry",
        *("train", "T", "d.parquet", "x.json", "--field", "field.npz"),
        says=["give both --field and --geometry, or neither"],
    ),
    usage("cut NaN", "fit", "s", "c", "f", "--outliers", "nan", says=["--outliers"]),
    Case(
        "command line",
        "no JSON",
        _assemble("--configuration", "{'a': 1}"),
        ("--configuration: not JSON", "line 1"),
    ),
    Case(
        "command line",
        "key twice in JSON",
        _assemble("--seeds", '{"a": 1, "a": 2}'),
        ("--seeds", "'a' is there twice"),
    ),
    Case(
        "command line",
        "a list for a mapping",
        _assemble("--inputs", "[1]"),
        ("--inputs", "expected a mapping"),
    ),
    Case(
        "command line",
        "part 9 of 2",
        command("train", "V", "d.parquet", "x.json", "--part", "9-of-2"),
        ("part '9-of-2'",),
    ),
    Case(
        "command line",
        "unknown step",
        command("train", "MAG", "d.parquet", "x.json"),
        ("step 'MAG' does not exist, expected one of V",),
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
