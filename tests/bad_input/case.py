"""A bad input: where it enters, what is wrong, how it is made, and what the message must contain."""

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

# Writes files to the working folder, and returns the command's arguments.
Make = Callable[[Path], Sequence[str | Path]]


@dataclass(frozen=True)
class Case:
    """A bad input.

    Attributes
    ----------
    door : str
        The command or file that reads the input.
    wrong : str
        Description of the mistake.
    make : callable
        Writes the input to a folder, and returns the arguments of the command that must refuse it there.
    says : tuple of str
        Texts that the message must contain.
    code : int
        Expected exit code.
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
    """Run a command of `parkf` in this process; return its exit code and its error stream."""
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
    """Replace parts of a text; each part must occur in it."""
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
    # Noise scales change from time to time with the best training.
    lines = (ROOT / "workflow/config/default.yaml").read_text().splitlines(keepends=True)
    plain = [re.sub(r": [\d.]+", ": 1.0", one) if "noise_scale: {" in one else one for one in lines]
    (folder / "run.yaml").write_text("".join(plain))


CHECK = ("check", "run.yaml")


def edited(name: str, *changes: tuple[str, str]) -> Make:
    """Make a project in which parts of one file are changed."""

    def make(folder: Path) -> Sequence[str | Path]:
        project(folder)
        path = folder / name
        path.write_text(replaced(path.read_text(), *changes))
        return CHECK

    return make


def written(name: str, content: str | bytes) -> Make:
    """Make a project in which one file is replaced."""

    def make(folder: Path) -> Sequence[str | Path]:
        project(folder)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return CHECK

    return make


def file(name: str, content: str | bytes, *arguments: str | Path) -> Make:
    """Write one file; `arguments` are the command."""

    def make(folder: Path) -> Sequence[str | Path]:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return arguments

    return make


def command(*arguments: str | Path) -> Make:
    """Write no file; `arguments` are the command."""
    return lambda folder: arguments
