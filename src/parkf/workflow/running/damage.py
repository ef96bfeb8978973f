"""Damaged files: a job that finds one marks it, and the run makes the marked file again."""

import json
import os
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from parkf.io.errors import DamagedFileError, ParkfError

ASIDE = ".aside"
"""Folder of a run for files that no run here has made and that were in the place of products."""
_SUFFIX = ".damaged"
_RECORDS = Path(".snakemake/metadata")
_READ = (".parquet", ".npz", ".json")
# Snakemake puts records of longer names into other folders, which are not searched. These files are kept.
_LONGEST = 254


def verify(folder: Path, signers: Path | None = None) -> tuple[int, list[str]]:
    """Read all tables, archives, JSON files and parameter sets below the folder of a run or a registry.

    A registry is also compared with its index, which must be signed by a key in `signers` if that is given
    (:func:`parkf.params.audit.audit`). Returns the number of files, and a message for each damaged file. A
    folder that is missing or has no such file raises a ParkfError.
    """
    from parkf.params.audit import audit

    if not folder.is_dir():
        raise ParkfError(f"{folder}: no such folder; expected one of a run: correct the name")
    count, problems = 0, audit(folder, signers)
    for path in sorted(folder.rglob("*")):
        is_product = not path.name.startswith(".") and ASIDE not in path.parts
        if path.suffix in _READ and path.is_file() and is_product:
            count += 1
            problems += damage_of(path)
    if not count:
        raise ParkfError(f"{folder}: nothing to verify; expected results/<run>, or a registry of sets")
    return count, list(dict.fromkeys(problems))


def damage_of(path: Path) -> list[str]:
    """Read a file; return the message if it is damaged, else nothing."""
    # Imported here, because all commands import this module.
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


def mark(error: DamagedFileError) -> None:
    """Write a mark beside a damaged file, if a run has made the file and its folder can be written."""
    path = error.path
    # The user has the error message; only the run needs the mark, so it may be missing.
    with suppress(OSError):
        if snakemake_record(from_here(path)) is not None:
            path.with_name(f".{path.name}{_SUFFIX}").write_text(f"{error}\n")


def remove_damaged(folder: Path) -> dict[Path, str]:
    """Remove all marks, and the marked files that the run has made according to Snakemake's records.

    `folder` is the run's folder, relative to where Snakemake runs. Returns a message for each removed file,
    with the damage and the rule that had made the file.
    """
    removed = {}
    for sign in sorted(folder.rglob(f".*{_SUFFIX}")):
        # In a family the file may be a link to the product of another member.
        path = from_here(sign.with_name(sign.name.removeprefix(".").removesuffix(_SUFFIX)))
        record = snakemake_record(path)
        if path.is_file() and record is not None:
            why, rule = sign.read_text(errors="replace").strip(), None
            # The record may be damaged as well.
            with suppress(ValueError):
                rule = json.loads(record.read_text()).get("rule")
            maker = f"rule {rule} of this run" if rule else "this run"
            removed[path] = f"{why}\n{path}: made by {maker}: removed, to be made again"
            path.unlink()
        sign.unlink()
    return removed


def from_here(path: Path) -> Path:
    """Return a path relative to the working folder, with links resolved."""
    return Path(os.path.relpath(path.resolve(), Path.cwd().resolve()))


def snakemake_record(path: Path) -> Path | None:
    """Return Snakemake's record of a file that a run has made."""
    name = urlsafe_b64encode(str(path).encode()).decode()
    record = _RECORDS / name
    return record if len(name) <= _LONGEST and record.is_file() else None
