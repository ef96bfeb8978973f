"""Paths of the project: the rules of the workflow and the files that they read, in a checkout or a wheel.

A checkout is its own project. A wheel has a copy of the project below the package, in folders of the same
names, so that a run needs no checkout.
"""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_CHECKOUT = _PACKAGE.parent.parent
IS_CHECKOUT = (_CHECKOUT / "Snakefile").is_file()
PROJECT = _CHECKOUT if IS_CHECKOUT else _PACKAGE / "shipped"
"""Folder with ``Snakefile``, ``workflow`` and ``data``."""


def found(name: str | Path) -> Path:
    """Return a file or folder of the working folder, or the project's if only the project has it.

    The name is a relative path, such as ``workflow/profiles/slurm``.
    """
    path = Path(name)
    return path if path.exists() or not (PROJECT / path).exists() else PROJECT / path
