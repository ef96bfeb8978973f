"""Outputs that are wrong before a command begins: one of its inputs, or in a folder that is not there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError

# Arguments and options that commands write to.
OUTPUTS = {"output", "to"}


def check_outputs(command: Any, name: str = "parkf") -> None:
    """Let a command, and those below it, refuse an output that is an input, or has no folder."""
    for below, one in getattr(command, "commands", {}).items():
        check_outputs(one, f"{name} {below}")
    if any(one.name in OUTPUTS for one in command.params) and command.callback is not None:
        command.callback = _checking(command.callback, name)


def _checking(callback: Callable[..., Any], command: str) -> Callable[..., Any]:
    def run(**values: Any) -> Any:
        given = {name: Path(value) for name, value in values.items() if isinstance(value, str | Path)}
        for output in OUTPUTS & given.keys():
            folder = given[output].parent
            if given[output].suffix and not folder.is_dir():
                raise ParkfError(f"{command}: {folder}: no such folder; make it, or correct the {output}")
            for name in given.keys() - OUTPUTS:
                if _same(given[name], given[output]):
                    raise ParkfError(
                        f"{command}: {given[output]} is an input ({name}), which the output would replace;"
                        " name another file for the output"
                    )
        return callback(**values)

    return run


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
