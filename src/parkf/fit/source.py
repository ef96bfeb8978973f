"""The kernel's headers joined to one source text, for compilers at run time."""

import re
from collections.abc import Sequence
from pathlib import Path

import parkf._fitter as _fitter
from parkf.io.errors import ParkfError
from parkf.params.manifest import Manifest

KERNEL_FOLDER = Path(_fitter.__file__).parent / "kernel"
_INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)


def kernel_of(manifest: Manifest) -> str:
    """Return the name that the installed kernel has for a set's formulas, such as ``improved_2``.

    A ParkfError is raised if the kernel was not built for these formulas.
    """
    names = [name for name, formulas in _fitter.formulas.items() if formulas == manifest.formulas]
    if not names:
        compiled = _fitter.formulas[manifest.forms]
        raise ParkfError(
            f"parameter set: made for formulas {manifest.formulas[:12]}…, expected {compiled[:12]}… of this "
            "kernel, or a published layout's; train the set again, or install the version that made it"
        )
    return str(names[0])


def flattened(forms: str, name: str = "fit/fit.cu") -> str:
    """Return the text of a kernel file with its own headers included; standard headers stay includes.

    Headers that are generated for a set of forms are in a folder with the kernel's name for these forms.
    CuPy's cache of compiled kernels compares only the text of the source. It would not notice a change in an
    included header.
    """
    return expanded(name, (KERNEL_FOLDER, KERNEL_FOLDER / forms), set())


def expanded(name: str, folders: Sequence[Path], seen: set[str]) -> str:
    """Return the text of a file and of the files that it includes; files in `seen` are left out."""
    if name in seen:
        return ""
    seen.add(name)
    text = text_in(folders, name).replace("#pragma once\n", "")
    return _INCLUDE.sub(lambda match: expanded(match[1], folders, seen), text)


def text_in(folders: Sequence[Path], name: str) -> str:
    """Return the text of a file that is in one of the folders."""
    return next(folder / name for folder in folders if (folder / name).exists()).read_text("utf-8")
