"""Trees of ROOT files: opened by name, with their branches as arrays."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from parkf.io.errors import ParkfError, few
from parkf.io.files import existing

Columns = dict[str, NDArray[Any]]


@contextmanager
def open_root(path: Path) -> Iterator[Any]:
    """Open a file; damage raises a ParkfError, even if it is found later, inside the `with` block."""
    import uproot

    try:
        with uproot.open(existing(path)) as file:
            yield file
    except (ParkfError, MemoryError):
        raise
    except Exception as error:
        # For damaged bytes uproot raises a dozen types of errors, including assertions.
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ParkfError(f"{path}: not a ROOT file as it was written: {reason}") from error


@contextmanager
def open_tree(path: Path, name: str | None = None) -> Iterator[Any]:
    """Open a tree of a file; without a name, the only tree. A name without its folder finds it in any."""
    with open_root(path) as file:
        yield file[chosen_tree(file, path, name)]


def chosen_tree(file: Any, path: Path, name: str | None = None) -> str:
    """Return the whole name of the tree that :func:`open_tree` opens in a file."""
    trees = tree_names(file)
    if name is None and len(trees) != 1:
        raise ParkfError(f"{path}: {len(trees)} trees ({few(trees)}); say which one")
    chosen = [one for one in trees if name in (None, one)]
    chosen = chosen or [one for one in trees if one.rpartition("/")[2] == name]
    if len(chosen) != 1:
        raise ParkfError(f"{path}: {'several trees' if chosen else 'no tree'} '{name}'; it has {few(trees)}")
    return chosen[0]


def tree_names(file: Any) -> list[str]:
    """Names of the trees in an open file, without the numbers of their cycles."""
    kinds = file.classnames()
    return sorted(
        {name.split(";")[0] for name, kind in kinds.items() if kind == "TTree" or "RNTuple" in kind}
    )


def require_branches(tree: Any, names: Iterable[str], path: Path) -> None:
    """Raise a ParkfError if a branch is missing; its message lists those that are there."""
    require_names(names, sorted(set(tree.keys())), f"{path}: tree '{tree.name}' has no branch")


def read_branches(tree: Any, names: Iterable[str], path: Path) -> Columns:
    """Read whole branches; a missing branch, or other than one number per entry, raises a ParkfError."""
    names = list(names)
    require_branches(tree, names, path)
    return flat(tree.arrays(names, library="np"), tree, path)


def flat(arrays: Columns, tree: Any, path: Path) -> Columns:
    """Return arrays of branches; a ParkfError reports one without one number per entry."""
    for name, values in arrays.items():
        if values.dtype.kind not in "biuf" or values.ndim != 1:
            raise ParkfError(f"{path}: tree '{tree.name}', branch '{name}': expected one number an entry")
    return arrays


def require_names(names: Iterable[str], there: Sequence[str], lacks: str) -> None:
    """Raise a ParkfError, which begins with `lacks`, for the first of the names that is not there."""
    if missing := [name for name in names if name not in there]:
        raise ParkfError(f"{lacks} '{missing[0]}'; it has {few(there)}")


def has_tree(path: Path, tree: str | None) -> bool:
    """Whether a ROOT file has a tree of this name, or any tree; files of other kinds count as one tree."""
    if path.suffix != ".root":
        return True
    with open_root(path) as file:
        return bool(tree_names(file)) if tree is None else tree in tree_names(file)
