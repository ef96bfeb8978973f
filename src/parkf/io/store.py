"""Bytes of products by their SHA-256: ``results/.store`` has a hard link of each product of a run.

The links need no further space. A product that is made again from the same, or by another run, is copied from
here instead. What a product was made of stands in the ledgers alone.
"""

import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from parkf.io.files import out_of_space, replacing, sha256
from parkf.io.ledger import RESULTS

STORE = RESULTS / ".store"


def keep(outputs: Mapping[Path, str]) -> None:
    """Link products, by their SHA-256; where that is not possible, they are made again when needed."""
    with suppress(OSError):
        STORE.mkdir(parents=True, exist_ok=True)
        for path, digest in outputs.items():
            if not (kept := STORE / digest).exists():
                os.link(path, kept)


def take(wanted: Mapping[Path, tuple[str, Path]]) -> bool:
    """Copy products to their paths, all of them or none; return whether they are there now.

    Each has its SHA-256, and the path where the run that made it had it.
    """
    try:
        with ExitStack() as all_or_none:
            for path, (digest, made) in wanted.items():
                source = next(one for one in (STORE / digest, made) if has(one, digest))
                shutil.copyfile(source, all_or_none.enter_context(replacing(path)))
    except StopIteration:
        return False
    except OSError as error:
        if out_of_space(error):
            raise
        return False
    return True


def has(path: Path, digest: str) -> bool:
    """Whether a file has this content; a damaged one of the store is removed."""
    if not path.is_file():
        return False
    is_whole = sha256(path) == digest
    if not is_whole and path.parent == STORE:
        path.unlink(missing_ok=True)
    return is_whole


def tidy() -> None:
    """Remove what no run has any more."""
    for path in STORE.glob("*"):
        with suppress(OSError):
            if path.stat().st_nlink == 1:
                path.unlink()
