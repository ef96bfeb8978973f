"""Damaged files: everything below a folder is read, and compared with the checksums that it has."""

from collections.abc import Callable
from pathlib import Path

from parkf.io.errors import ParkfError

ASIDE = ".aside"
"""Folder of a run for files that no run here has made and that were in the place of products."""
_READ = (".parquet", ".npz", ".json")


def verify(folder: Path, signers: Path | None = None) -> tuple[int, list[str]]:
    """Read all tables, archives, JSON files and parameter sets below the folder of a run or a registry.

    A registry is also compared with its index, which must be signed by a key in `signers` if that is given
    (:func:`parkf.params.audit.audit`). Returns the number of files, and a message for each damaged file. A
    folder that is missing or has no such file raises a ParkfError.
    """
    from parkf.params.audit import audit

    if not folder.is_dir():
        raise ParkfError(f"{folder}: no such folder; expected one of a run: correct the name")
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in _READ
        and path.is_file()
        and not path.name.startswith(".")
        and ASIDE not in path.parts
    ]
    if not files:
        raise ParkfError(f"{folder}: nothing to verify; expected results/<run>, or a registry of sets")
    problems = [*audit(folder, signers), *(problem for path in files for problem in damage_of(path))]
    return len(files), list(dict.fromkeys(problems))


def damage_of(path: Path) -> list[str]:
    """Read a file; return the message if it is damaged, else nothing."""
    # Imported here, because the leader of a run reads files only where something is wrong.
    from parkf.io.checksums import check_pages
    from parkf.io.files import read_json
    from parkf.io.npz import load_arrays
    from parkf.params.binary_form import MANIFEST_FILE
    from parkf.params.parameter_set import load

    try:
        if path.name == MANIFEST_FILE:
            # This also checks the blobs beside the manifest, which has their checksums.
            load(path.parent, withdrawn=True)
        elif path.suffix in _READ:
            readers: tuple[Callable[[Path], object], ...] = (check_pages, load_arrays, read_json)
            readers[_READ.index(path.suffix)](path)
    except ParkfError as error:
        return [str(error)]
    return []
