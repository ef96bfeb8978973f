"""Messages for users when a command cannot go on, for every reason but errors in the code."""

import shutil
from pathlib import Path
from typing import Any

from typer import BadParameter

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import out_of_space
from parkf.workflow.running.damage import mark

# Typer does not export this class by name.
UsageError: Any = BadParameter.__base__


def usage(error: Any) -> str:
    """Return one line about wrong arguments of a command; without any arguments, its help."""
    command = error.ctx.command_path if error.ctx else "parkf"
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(error.ctx.get_help())
    text = " ".join(error.format_message().split()).rstrip(".")
    return f"error: {command}: {text}; {command} --help says what it takes"


def explained(error: Exception) -> str | None:
    """Return what is wrong, where, and what to do; None for an error in the code.

    A damaged file is also marked, so that its run makes it again.
    """
    if isinstance(error, DamagedFileError):
        mark(error)
    if isinstance(error, ParkfError):
        return str(error)
    if isinstance(error, MemoryError):
        return "no more memory; give the command more of it, or fewer threads (--threads 1)"
    if isinstance(error, OSError):
        return _system_error(error)
    return None


def _system_error(error: OSError) -> str:
    path = "" if error.filename is None else f"{error.filename}: "
    if out_of_space(error):
        folder = Path(error.filename).parent if error.filename else Path.cwd()
        free = shutil.disk_usage(folder if folder.is_dir() else Path.cwd()).free
        return f"{path}no space left on {folder}: {free / 1e6:.1f} MB are free; make room, and start again"
    return f"{path}{error.strerror or error}"
