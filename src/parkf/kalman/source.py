"""The kernel's headers as one source, for compilers at run time."""

import re
from pathlib import Path

import parkf._fitter as _fitter
from parkf.choices import FormsName

KERNEL_FOLDER = Path(_fitter.__file__).parent / "kernel"
_INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)


def flattened(forms: FormsName, name: str = "fit/fit.cu") -> str:
    """Text of a kernel file with its own headers put in; standard headers stay as they are.

    Headers that are made for a set of forms lie in the folder of its name.

    CuPy's cache of compiled kernels knows the source's text only: headers found elsewhere would go stale.
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
