"""How commands answer: exit codes, and text for people or JSON for machines."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from typer import Exit

from parkf.io.errors import ParkfError
from parkf.io.terminal import aligned

if TYPE_CHECKING:
    from parkf.params.manifest import Gate

NO, NO_ANSWER = 1, 2


def answer(as_json: bool, content: Any, text: Callable[[], str], *, yes: bool = True) -> None:
    """Print the content as JSON or the text, and exit with 1 where the answer is no."""
    print(json.dumps(content, indent=1, ensure_ascii=False) if as_json else text())
    if not yes:
        raise Exit(NO)


def short(value: float | None, digits: int = 4) -> str | None:
    """Write a number with so many digits; None stays None, which is an empty cell."""
    return None if value is None else f"{value:.{digits}g}"


def gate_table(gates: "Sequence[Gate]") -> str:
    """Lay out gates: whether met, what, figure, bound."""
    rows = [("met" if one.met else "MISSED", one.what, one.measured, one.bar) for one in gates]
    return aligned(("", "gate", "measured", "bar"), rows)


@contextmanager
def exit_on_error(code: int) -> Iterator[None]:
    """Exit with this code and one message where there is a problem that users can solve."""
    try:
        yield
    except ParkfError as error:
        print(f"error: {error}", file=sys.stderr)
        raise Exit(code) from error
