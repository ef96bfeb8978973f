"""Check of the files of a run, or of a registry of published sets, against their checksums."""

from collections.abc import Callable
from pathlib import Path

from parkf.io.checksums import check_pages
from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.io.npz import array_names, load_arrays
from parkf.params.parameter_set import MANIFEST_FILE, load


def verify(folder: Path) -> tuple[int, list[str]]:
    """Read all tables, archives, JSON files and parameter sets below the folder of a run or a registry.

    Returns the number of files, and a message for each damaged file. A missing folder, and one with nothing
    in it to read, are a ParkfError.
    """
    if not folder.is_dir():
        raise ParkfError(f"{folder}: no such folder")
    count, problems = 0, []
    for path in sorted(folder.rglob("*")):
        if path.suffix in _READERS and path.is_file() and not path.name.startswith("."):
            count += 1
            try:
                _READERS[path.suffix](path)
            except ParkfError as error:
                problems.append(str(error))
    if not count:
        raise ParkfError(f"{folder}: nothing to verify; expected results/<run>, or a registry of sets")
    return count, problems


def _json(path: Path) -> None:
    if path.name == MANIFEST_FILE:
        # The manifest holds the checksums of the blobs beside it, which are checked with it.
        load(path.parent)
    else:
        read_json(path)


_READERS: dict[str, Callable[[Path], object]] = {
    ".parquet": check_pages,
    ".npz": lambda path: load_arrays(path, array_names(path)),
    ".json": _json,
}
