"""Files that a pattern stands for, in an order that does not depend on the file system."""

import glob
from pathlib import Path

from parkf.io.errors import ParkfError


def matching(pattern: str | Path, folder: Path | None = None) -> list[Path]:
    """Files that a pattern matches, sorted by name; a plain path is its own pattern.

    Parameters
    ----------
    pattern : str or Path
        ``*``, ``?``, ``[…]``, and ``**`` for folders at any depth.
    folder : Path, optional
        That the pattern is relative to; the working folder by default.

    Raises
    ------
    ParkfError
        When it matches no file.
    """
    whole = Path(pattern) if folder is None else folder / pattern
    if whole.is_file():
        return [whole]
    found = sorted(Path(name) for name in glob.glob(str(whole), recursive=True))  # noqa: PTH207  # absolute patterns
    files = [path for path in found if path.is_file()]
    if not files:
        raise ParkfError(f"{whole}: no such file, and none that matches")
    return files
