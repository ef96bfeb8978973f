"""Files of a run that a job found damaged: marked by the job, removed by the run, made again."""

import os
from base64 import urlsafe_b64encode
from pathlib import Path

from parkf.errors import DamagedFileError

_SUFFIX = ".damaged"
_RECORDS = Path(".snakemake/metadata")
# Records of longer names lie in folders of their own; such files are named, and stay.
_LONGEST = 254


def mark(error: DamagedFileError) -> None:
    """Leave a mark beside a damaged file that a run has made, so that the run finds it.

    Beside other files nothing is left, and nowhere where it cannot be written.
    """
    path = error.path
    try:
        if not _made_here(_from_here(path)):
            return
        path.with_name(f".{path.name}{_SUFFIX}").write_text(f"{error}\n")
    except OSError:
        # The message says all; a mark is for the run alone.
        return


def remove_damaged(folder: Path) -> dict[Path, str]:
    """Remove the marked files that the run has made itself, and all marks.

    Parameters
    ----------
    folder : Path
        Of the run, relative to where Snakemake runs: it keeps a record of each file that it has made there.
        Others stay.

    Returns
    -------
    dict of Path to str
        What was removed, and what was wrong.
    """
    removed = {}
    for sign in sorted(folder.rglob(f".*{_SUFFIX}")):
        marked = sign.with_name(sign.name.removeprefix(".").removesuffix(_SUFFIX))
        # A member of a family links to what another one made.
        path = _from_here(marked)
        if path.is_file() and _made_here(path):
            removed[path] = sign.read_text(errors="replace").strip()
            path.unlink()
        sign.unlink()
    return removed


def _from_here(path: Path) -> Path:
    return Path(os.path.relpath(path.resolve(), Path.cwd().resolve()))


def _made_here(path: Path) -> bool:
    name = urlsafe_b64encode(str(path).encode()).decode()
    return len(name) <= _LONGEST and (_RECORDS / name).is_file()
