"""Results of commands, as text or JSON, and messages about wrong usage."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import BadParameter, Exit

from parkf.io.errors import ParkfError
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


def print_answer(as_json: bool, content: Any, text: str, *, yes: bool = True) -> None:
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
    from parkf.proof.gates.room import verdict

    rows = [
        (verdict(one) if one.met else verdict(one).upper(), one.what, one.measured, one.bar) for one in gates
    ]
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
