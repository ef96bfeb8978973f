"""What a user is told when a command cannot go on, for every reason that is not a fault of the code."""

import shutil
from pathlib import Path
from typing import Any

import typer

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import out_of_space
from parkf.workflow.running.damage import mark

# Typer does not export this class by name.
UsageError: Any = typer.BadParameter.__base__


def usage(error: Any) -> str:
    """Say in one line what is wrong with a command's arguments; without any, its whole help."""
    command = error.ctx.command_path if error.ctx else "parkf"
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(error.ctx.get_help())
    said = " ".join(error.format_message().split()).rstrip(".")
    return f"error: {command}: {said}; {command} --help says what it takes"


def explained(error: Exception) -> str | None:
    """Say what is wrong, where, and what to do; None for what no user can have caused.

    A damaged file is marked, too, so that the run that led here makes it again.
    """
    if isinstance(error, DamagedFileError):
        mark(error)
    if isinstance(error, ParkfError):
        return str(error)
    if isinstance(error, MemoryError):
        return "no more memory; give the command more of it, or fewer threads (--threads 1)"
    if isinstance(error, OSError):
        return _of_the_system(error)
    return None


def _of_the_system(error: OSError) -> str:
    path = "" if error.filename is None else f"{error.filename}: "
    if out_of_space(error):
        folder = Path(error.filename).parent if error.filename else Path.cwd()
        free = shutil.disk_usage(folder if folder.is_dir() else Path.cwd()).free
        return f"{path}no space left on {folder}: {free / 1e6:.1f} MB are free; make room, and start again"
    return f"{path}{error.strerror or error}"
