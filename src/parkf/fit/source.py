"""The kernel's headers as one source, for compilers at run time."""

import re
from pathlib import Path

import parkf._fitter as _fitter
from parkf.io.errors import ParkfError
from parkf.params.manifest import Manifest

KERNEL_FOLDER = Path(_fitter.__file__).parent / "kernel"
_INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)


def kernel_of(manifest: Manifest) -> str:
    """Return the installed kernel's name of a set's formulas, for example ``improved`` or ``improved_2``.

    A kernel that was not built for them raises a ParkfError.
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

    Headers generated for a set of forms are in the folder of the kernel's name for it. CuPy's cache of
    compiled kernels compares the source's text only: it would not notice a change in an included header.
    """
    seen: set[str] = set()

    def expand(file: str) -> str:
        if file in seen:
            return ""
        seen.add(file)
        path = next(f for f in (KERNEL_FOLDER / forms / file, KERNEL_FOLDER / file) if f.exists())
        text = path.read_text().replace("#pragma once\n", "")
        return _INCLUDE.sub(lambda match: expand(match[1]), text)

    return expand(name)
