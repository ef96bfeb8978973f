"""Arguments of a stage that are files: types of those that it reads and of those that it makes, folders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from parkf.io.errors import ParkfError

READ, MADE = "read", "made"

Read = Annotated[Path, READ]
"""A file that the stage reads."""
AllRead = Annotated[list[Path], READ]
"""Files that the stage reads, in the order of the rule; a word with ``*`` stands for the files that match."""
Made = Annotated[Path, MADE]
"""A file that the stage makes."""
AllMade = Annotated[list[Path], MADE]
"""Files that the stage makes, in the order of the rule."""


def folder_of(files: Sequence[Path]) -> Path:
    """Return the folder in which all the files lie; a ParkfError if they lie in several, or there is none."""
    folders = sorted({file.parent for file in files})
    if len(folders) != 1:
        found = ", ".join(map(str, folders)) or "no file"
        raise ParkfError(f"got {found}, expected files of one folder; name all of them there")
    return folders[0]


def set_folder(files: Sequence[Path]) -> Path:
    """Return the folder of a set's files, in which ``manifest.json`` is; a ParkfError without it."""
    return folder_of([file for file in files if file.name == "manifest.json"])
