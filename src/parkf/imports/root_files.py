"""ROOT files through uproot, with messages that name file, tree and branch."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.io.files import existing


@contextmanager
def open_root(path: Path) -> Iterator[Any]:
    """Open a file for reading.

    Raises
    ------
    ParkfError
        When it is missing, is no ROOT file, or is cut off; also when that shows within the block.
    """
    import uproot

    try:
        with uproot.open(existing(path)) as file:
            yield file
    except ParkfError:
        raise
    except Exception as error:
        # For damaged bytes uproot raises a dozen types of errors, assertions among them.
        if isinstance(error, (KeyboardInterrupt, MemoryError)):
            raise
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ParkfError(f"{path}: not a ROOT file as it was written: {reason}") from error


@contextmanager
def open_tree(path: Path, name: str | None = None) -> Iterator[Any]:
    """Open a tree of a file; the only one where no name is given.

    Raises
    ------
    ParkfError
        As :func:`open_root`; and when there is no such tree, or several but no name.
    """
    with open_root(path) as file:
        trees = tree_names(file)
        if name is None and len(trees) != 1:
            raise ParkfError(f"{path}: {len(trees)} trees ({', '.join(trees[:8])}); say which one")
        chosen = trees[0] if name is None else name
        if chosen not in trees:
            raise ParkfError(f"{path}: no tree '{chosen}'; it has {', '.join(trees[:8]) or 'none'}")
        yield file[chosen]


def tree_names(file: Any) -> list[str]:
    """Names of the trees in an open file, without the numbers of their cycles."""
    kinds = file.classnames()
    return sorted(
        {name.split(";")[0] for name, kind in kinds.items() if kind == "TTree" or "RNTuple" in kind}
    )


def require_branches(tree: Any, names: Iterable[str], path: Path) -> None:
    """Refuse a tree that lacks a branch.

    Raises
    ------
    ParkfError
        With the names that it has.
    """
    there = set(tree.keys())
    if missing := [name for name in names if name not in there]:
        raise ParkfError(
            f"{path}: tree '{tree.name}' has no branch '{missing[0]}'; it has {', '.join(sorted(there)[:12])}"
        )


def read_branches(tree: Any, names: Iterable[str], path: Path) -> dict[str, NDArray[Any]]:
    """Read branches of one number an entry, whole.

    Raises
    ------
    ParkfError
        When a branch is missing, or holds lists or text.
    """
    names = list(names)
    require_branches(tree, names, path)
    return _flat(tree.arrays(names, library="np"), tree, path)


def steps(tree: Any, names: Iterable[str], path: Path, rows: int) -> Iterator[dict[str, NDArray[Any]]]:
    """Read branches as :func:`read_branches`, `rows` rows at a time."""
    names = list(names)
    require_branches(tree, names, path)
    for arrays in tree.iterate(names, step_size=rows, library="np"):
        yield _flat(arrays, tree, path)


def _flat(arrays: dict[str, NDArray[Any]], tree: Any, path: Path) -> dict[str, NDArray[Any]]:
    for name, values in arrays.items():
        if values.dtype.kind not in "biuf" or values.ndim != 1:
            raise ParkfError(f"{path}: tree '{tree.name}', branch '{name}': expected one number an entry")
    return arrays
