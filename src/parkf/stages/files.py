"""Types of a stage's arguments that are files: those that it reads, and those that it makes."""

from pathlib import Path
from typing import Annotated

READ, MADE = "read", "made"

Read = Annotated[Path, READ]
"""A file that the stage reads."""
AllRead = Annotated[list[Path], READ]
"""Files that the stage reads, in the order of the rule; a word with ``*`` stands for the files that match."""
Made = Annotated[Path, MADE]
"""A file that the stage makes."""
AllMade = Annotated[list[Path], MADE]
"""Files that the stage makes, in the order of the rule."""
