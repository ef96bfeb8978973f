"""Bad options and arguments of commands, and errors of the operating system."""

from collections.abc import Sequence
from pathlib import Path

from .case import ROOT, Case, command, staged

GEOMETRY = ("--geometry", ROOT / "data/geometry/run3.yaml")
DETECTOR = (*GEOMETRY, "--alignment", ROOT / "data/geometry/alignment_nominal.yaml", "--field", "field.npz")
FIND = ("candidates", "h.parquet", "x.parquet", *DETECTOR)
FIELD = ("field", ROOT / "data/field/dipole.json", "field.npz")


def usage(wrong: str, *arguments: str | Path) -> Case:
    return Case("command line", wrong, command(*arguments), 2)


def _file_for_a_folder(folder: Path) -> Sequence[str | Path]:
    (folder / "results").write_text("")
    return ("field", ROOT / "data/field/dipole.json", "results/field.npz", "--spacing", "500")


def _folder_for_a_file(folder: Path) -> Sequence[str | Path]:
    (folder / "field.npz").mkdir()
    return (*FIELD, "--spacing", "500")


CASES = [
    usage("no such command", "fitt"),
    usage("no such option", *FIND, "--plority", "1"),
    usage("argument missing", "fit"),
    usage("option missing", *FIND),
    usage("spacing of text", *FIELD, "--spacing", "many"),
    usage("year 99", "params", "publish", "set", "--year", "99"),
    usage("no threads", "fit", "s", "c", "f", "--threads", "0"),
    usage("polarity 3", *FIND, "--polarity", "3"),
    usage("unknown scheme", "fit", "s", "c", "f", "--scheme", "best"),
    Case(
        "stage",
        "a set without its manifest",
        staged(
            "fit",
            set=[Path("set/global.f32")],
            candidates=[Path("c.parquet")],
            outputs=[Path("x")],
            fits={"a": {"backend": "cpu"}},
        ),
    ),
    Case("system", "a file for a folder", _file_for_a_folder),
    Case("system", "a folder for a file", _folder_for_a_file),
    Case(
        "system",
        "a folder that takes no files",
        command("field", ROOT / "data/field/dipole.json", "/proc/x/field.npz", "--spacing", "500"),
    ),
]
