"""A bad input: at which door, what is wrong, how it comes about, and what the message has to say."""

import io
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from parkf.cli.main import main

ROOT = Path(__file__).parents[2]
SET = ROOT / "params/2026-run3-like-2-r005"

# Writes files to the working folder, and gives the command's arguments.
Make = Callable[[Path], Sequence[str | Path]]


@dataclass(frozen=True)
class Case:
    """A bad input.

    Attributes
    ----------
    door : str
        What takes it.
    wrong : str
        In words.
    make : callable
        Writes it to a folder; gives the arguments of the command that is to refuse it, run there.
    says : tuple of str
        Words of the message.
    code : int
        Exit code.
    """

    door: str
    wrong: str
    make: Make
    says: tuple[str, ...]
    code: int = 1

    @property
    def name(self) -> str:
        """Door and mistake."""
        return f"{self.door}: {self.wrong}"


def ran(arguments: Sequence[str | Path]) -> tuple[int, str]:
    """Run a command of `parkf` in this process; gives its exit code, and what it said on the error stream."""
    errors, before = io.StringIO(), sys.argv
    sys.argv = ["parkf", *map(str, arguments)]
    try:
        with redirect_stderr(errors), redirect_stdout(io.StringIO()):
            main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        sys.argv = before
    return code, errors.getvalue()


def replaced(text: str, *changes: tuple[str, str]) -> str:
    """Replace parts of a text, each of which has to be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def project(folder: Path) -> None:
    """Put the inputs of a run into a folder."""
    for name in ("data/geometry/run3.yaml", "data/geometry/alignment_nominal.yaml", "data/field/dipole.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "workflow/config").mkdir(parents=True)
    shutil.copy(ROOT / "workflow/config/gates.yaml", folder / "workflow/config")
    # What training finds best changes from time to time.
    lines = (ROOT / "workflow/config/default.yaml").read_text().splitlines(keepends=True)
    plain = [re.sub(r": [\d.]+", ": 1.0", one) if "noise_scale: {" in one else one for one in lines]
    (folder / "run.yaml").write_text("".join(plain))


CHECK = ("check", "run.yaml", "--schemas", ROOT / "workflow/schemas")


def edited(name: str, *changes: tuple[str, str]) -> Make:
    """Make a project in which parts of one file are others."""

    def make(folder: Path) -> Sequence[str | Path]:
        project(folder)
        path = folder / name
        path.write_text(replaced(path.read_text(), *changes))
        return CHECK

    return make


def written(name: str, content: str | bytes) -> Make:
    """Make a project in which one file is another."""

    def make(folder: Path) -> Sequence[str | Path]:
        project(folder)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return CHECK

    return make


def file(name: str, content: str | bytes, *arguments: str | Path) -> Make:
    """Write one file; the command follows."""

    def make(folder: Path) -> Sequence[str | Path]:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return arguments

    return make


def command(*arguments: str | Path) -> Make:
    """Write nothing."""
    return lambda folder: arguments
