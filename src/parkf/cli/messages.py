"""Results of commands, as text or JSON, and messages when a command cannot continue."""

import errno
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import BadParameter, Exit

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.extras import how_to_install
from parkf.io.files import out_of_space
from parkf.io.ledger import doubt
from parkf.io.terminal import aligned, is_quiet, say

if TYPE_CHECKING:
    from parkf.params.manifest import Gate

NO, NO_ANSWER = 1, 2

# Typer does not export this class by name.
UsageError: Any = BadParameter.__base__


def usage(error: Any) -> str:
    """Return one line about wrong arguments of a command; without any arguments, its help."""
    command = error.ctx.command_path if error.ctx else "parkf"
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(error.ctx.get_help())
    text = " ".join(error.format_message().split()).rstrip(".")
    return f"error: {command}: {text}{_given(error)}; {command} --help says what is expected"


def _given(error: Any) -> str:
    """Return the value of an option that is wrong, if the message does not have it."""
    for name in getattr(getattr(error, "param", None), "opts", ()):
        for word, value in zip(sys.argv, sys.argv[1:], strict=False):
            if word == name and value not in str(error):
                return f", got {value}"
    return ""


def explained(error: Exception) -> str | None:
    """Return a text with the mistake, its position and the remedy; None for an error in the code.

    The next check of a run reads a product that is damaged, and the run makes it again.
    """
    if isinstance(error, DamagedFileError):
        doubt(error.path)
    if isinstance(error, ParkfError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return how_to_install(error)
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return "no more memory, expected more; give the command more of it, or fewer threads (--threads 1)"
    if isinstance(error, BrokenPipeError):
        return "the output: its reader has ended, expected one that reads all of it; write it to a file"
    if not isinstance(error, OSError):
        return None
    path = "" if error.filename is None else f"{error.filename}: "
    if out_of_space(error):
        if not error.filename or not Path(error.filename).parent.is_dir():
            return (
                f"{path or 'the output: '}no space left there, expected room; name another file, or make room"
            )
        folder = Path(error.filename).parent
        free = shutil.disk_usage(folder).free
        return f"{path}no space left on {folder}: {free / 1e6:.1f} MB are free; make room, and start again"
    return f"{path}{error.strerror or error}; expected to read or write here: correct the path or its rights"


def answer(as_json: bool, content: Any, text: str, *, yes: bool = True) -> None:
    """Print the content as JSON, or the text; exit with 1 if the answer is no."""
    say(json.dumps(content, indent=1, ensure_ascii=False) if as_json else text)
    if not yes:
        raise Exit(NO)


def written(*outputs: Path | None) -> None:
    """Print one line for each file or folder that a command has written: its size, and rows of a table."""
    for path in outputs if not is_quiet() else ():
        if path is not None:
            files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
            size = sum(one.stat().st_size for one in files)
            facts = [f"{len(files)} files, "] if path.is_dir() else []
            if path.suffix == ".parquet":
                from pyarrow.parquet import read_metadata

                facts.append(f"{read_metadata(path).num_rows:,} rows, ")
            size_text = f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
            say(f"{path}: {''.join(facts)}{size_text} written", file=sys.stderr)


def short(value: float | None, digits: int = 4) -> str | None:
    """Write a number with `digits` digits; None, an empty cell, stays None."""
    return None if value is None else f"{value:.{digits}g}"


def gate_table(gates: "Sequence[Gate]") -> str:
    """Lay out gates as a table: whether met, name, figure, bound."""
    rows = [("met" if one.met else "MISSED", one.what, one.measured, one.bar) for one in gates]
    return aligned(("", "gate", "measured", "bar"), rows)


def refuse_foreign(run: Path) -> None:
    """Raise a ParkfError if a run's files are not its own products; warn if its documents have changed."""
    from parkf.workflow.products import require_own

    for line in require_own(run):
        say(f"warning: {line}", file=sys.stderr)


@contextmanager
def exit_on_error(code: int) -> Iterator[None]:
    """Exit with this code and one message if a problem occurs that users can solve."""
    try:
        yield
    except ParkfError as error:
        say(f"error: {error}", file=sys.stderr)
        raise Exit(code) from error
