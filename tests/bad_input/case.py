"""A bad input: where it enters, what is wrong, and how it is made."""

import io
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.stage import stage

from parkf.cli.main import main
from parkf.io.errors import ParkfError

ROOT = Path(__file__).parents[2]
SET = ROOT / "params/2026-run3-like-2-r005"

# Arguments of `parkf`, or the call of a stage.
Call = Sequence[str | Path] | Callable[[], None]
# Writes files to the working folder, and returns what must refuse them.
Make = Callable[[Path], Call]


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
        Writes the input to a folder, and returns the command or the stage that must refuse it there.
    code : int
        Expected exit code.
    """

    door: str
    wrong: str
    make: Make
    code: int = 1

    @property
    def name(self) -> str:
        """Door and mistake."""
        return f"{self.door}: {self.wrong}"


def ran(call: Call) -> tuple[int, str]:
    """Run a command of `parkf` or a stage in this process; return its exit code and its error stream."""
    errors, before = io.StringIO(), sys.argv
    try:
        with redirect_stderr(errors), redirect_stdout(io.StringIO()):
            if callable(call):
                call()
            else:
                sys.argv = ["parkf", *map(str, call)]
                main()
        code = 0
    except ParkfError as error:
        # A stage's message is printed by its program, as that of a command is.
        return 1, f"error: {error}\n"
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
    for name in (
        "data/geometry/run3.yaml",
        "data/geometry/alignment_nominal.yaml",
        "data/field/dipole.json",
        "data/field/lhcb.json",
    ):
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


def staged(name: str, **arguments: Any) -> Make:
    """Write no file; call a stage."""
    return lambda folder: partial(stage, name, **arguments)
