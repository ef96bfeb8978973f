"""Where the rules of the workflow lie, and what they read beside a run's inputs: in a checkout or a wheel.

A checkout is its own project. A wheel carries a copy below the package, in folders of the same names, so that
a run needs no checkout. The kernel's source is in it for fingerprints alone, which are a checkout's that way.
"""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parent.parent
IS_CHECKOUT = (_CHECKOUT / "Snakefile").is_file()
PROJECT = _CHECKOUT if IS_CHECKOUT else _PACKAGE / "shipped"
"""Folder with ``Snakefile``, ``workflow`` and ``data``."""


def source(part: str) -> Path:
    """Return the path of a part of the source.

    Parameters
    ----------
    part : str
        ``parkf/...`` of the package, or ``kernel/...`` of the C++.
    """
    root = _PACKAGE.parent if part.partition("/")[0] == "parkf" else PROJECT / "src"
    return root / part


def found(name: str | Path) -> Path:
    """Return a file or folder of the working folder, or the project's if the working folder has none.

    Parameters
    ----------
    name : str or Path
        Relative path, such as ``workflow/profiles/slurm``.
    """
    return Path(name) if Path(name).exists() else PROJECT / name
