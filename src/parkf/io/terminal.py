"""Output on a terminal: aligned tables, and progress bars unless `--quiet` is set."""

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from tqdm import tqdm

# The setting is in the environment, so that processes that this one starts are quiet, too.
_QUIET = "PARKF_QUIET"
WIDTH = 120
"""Longest line of a run's output in a file or a log, in characters."""
# Characters that a terminal obeys, except line breaks and tabs: controls, separators of lines and paragraphs,
# marks of direction; and bytes of names that are no UTF-8.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    """Return a text with an escape in the place of each character that a terminal would obey.

    JSON stays JSON: it has no raw characters below a blank, and the other escapes are those of JSON.
    """
    return _OBEYED.sub(
        lambda one: f"\\{'x' if one[0] < ' ' else 'u'}{ord(one[0]):0{2 if one[0] < ' ' else 4}x}", text
    )


def say(
    *texts: object, sep: str = " ", end: str = "\n", file: TextIO | None = None, flush: bool = False
) -> None:
    """Print as :func:`print` does, but :func:`escaped`: all text of commands goes through this function."""
    print(escaped(sep.join(map(str, texts))), end=end, file=file or sys.stdout, flush=flush)


def be_quiet() -> None:
    """Show no progress from now on, only answers and errors."""
    os.environ[_QUIET] = "1"


def is_quiet() -> bool:
    """Whether :func:`be_quiet` was called, here or in the process that started this one."""
    return os.environ.get(_QUIET) == "1"


def progress_bar(what: str, unit: str, total: int | None = None) -> "tqdm[Any]":
    """Show progress on a terminal: how many units are done, the rate, and the time that is left.

    `what` is the name of the task ("fit"), and `unit` that of a unit in plural ("tracks"); `total` is the
    number of units, if known.
    """
    # Imported here, because most commands do not need it.
    from tqdm import tqdm

    # With None, tqdm shows progress only on a terminal.
    return tqdm(desc=what, unit=f" {unit}", total=total, disable=True if is_quiet() else None)


def shortened(text: str) -> str:
    """Return the first line of a text, cut to 120 characters."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 2]} …"


def aligned(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Lay out rows in columns: numbers to the right, empty cells for None."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = [bool(rows) and all(_number(row[i]) for row in rows) for i in range(len(header))]
    lines = []
    for row in (header, *cells):
        columns = zip(row, widths, right, strict=True)
        padded = (cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in columns)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _number(cell: object) -> bool:
    try:
        float(str(cell))
    except ValueError:
        return cell is None
    return True
