"""What an error means to a user, in one text."""

import errno
import shutil
from pathlib import Path

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.extras import how_to_install
from parkf.io.files import out_of_space
from parkf.io.ledger import doubt


def explained(error: Exception) -> str | None:
    """Return a text with the mistake, its position and the remedy; None for an error in the code.

    The next check of a run reads a product that is damaged, and the run makes it again.
    """
    if isinstance(error, DamagedFileError):
        doubt(error.path)
    if isinstance(error, ParkfError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return how_to_install(error)
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return "no more memory, expected more; give the command more of it, or fewer threads (--threads 1)"
    if isinstance(error, UnicodeEncodeError):
        return (
            f"a name with {error.object[error.start : error.end]!a}: this locale cannot express it,"
            " expected UTF-8; set PYTHONUTF8=1"
        )
    if isinstance(error, BrokenPipeError):
        return "the output: its reader has ended, expected one that reads all of it; write it to a file"
    if not isinstance(error, OSError):
        return None
    path = "" if error.filename is None else f"{error.filename}: "
    if out_of_space(error):
        if not error.filename or not Path(error.filename).parent.is_dir():
            return (
                f"{path or 'the output: '}no space left there, expected room; name another file, or make room"
            )
        folder = Path(error.filename).parent
        free = shutil.disk_usage(folder).free
        return f"{path}no space left on {folder}: {free / 1e6:.1f} MB are free; make room, and start again"
    return f"{path}{error.strerror or error}; expected to read or write here: correct the path or its rights"
