"""What the commands share: arguments, exit codes, and printing for people or machines."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkf.io.errors import ParkfError

if TYPE_CHECKING:
    from parkf.params.registry import Registry

NO, NO_ANSWER = 1, 2


def _published(incomplete: str) -> list[str]:
    """Name published sets, for the shell's completion."""
    return [version for version in registry_in(None).versions() if version.startswith(incomplete)]


Set = Annotated[
    str,
    typer.Argument(
        metavar="SET", help="Version in the registry, or a set's folder.", autocompletion=_published
    ),
]
RegistryFolder = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        help="Folder of published sets; params/ here by default, or else the sets that parkf ships.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="For machines.")]


def registry_in(folder: Path | None) -> "Registry":
    """Registry in a folder, or the one to read from when none is named."""
    from parkf.params.registry import Registry, readable_registry

    return readable_registry() if folder is None else Registry(folder)


def state_of(path: Path, state: str) -> tuple[str, str | None]:
    """State of a set, and why it was withdrawn."""
    from parkf.params.registry import Registry

    withdrawal = Registry(path.parent).withdrawal(path.name) if state == "published" else None
    return (state, None) if withdrawal is None else ("withdrawn", withdrawal.reason)


def short(value: float | None) -> str | None:
    """Give a number in four digits."""
    return None if value is None else f"{value:.4g}"


def say(as_json: bool, content: Any, text: Callable[[], str]) -> None:
    """Print `content` as JSON, or the text."""
    print(json.dumps(content, indent=1, ensure_ascii=False) if as_json else text())


@contextmanager
def exit_on_error(code: int) -> Iterator[None]:
    """End the command with this code and one message where a problem is one that users can solve."""
    try:
        yield
    except ParkfError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(code) from error
