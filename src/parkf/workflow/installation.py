"""The installation: versions, processors that fits run on, packages that a task lacks, and the kernel.

The packages that each task needs are read from the metadata of parkf.
"""

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Any

import psutil
from packaging.requirements import Requirement

import parkf._fitter as _fitter
from parkf import __version__
from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT
from parkf.io.workers import default_workers

# Tasks by the extra of parkf with the packages that they need; "" is parkf without extras.
TASKS: Mapping[str, str] = {
    "": "fit arrays in memory, look at parameter sets",
    "train": "train, validate and publish; read and write files",
    "gpu": "fit on a GPU",
    "slurm": "run on a Slurm cluster",
    "htcondor": "run on an HTCondor pool",
    "acts": "compare the propagation with ACTS",
    "dev": "change formulas or code, and test",
}


def examine() -> dict[str, Any]:
    """Return all that ``parkf doctor`` reports; memory is in GB (10⁹ bytes).

    ``builds`` are the instruction sets of the kernel that this processor has; fits use the first. ``current``
    is whether the kernel was compiled from the formulas of the installed package. ``missing`` has the
    requirements that are not met, by the extra that they are of.
    """
    from parkf.fit.gpu import choose_backend

    memory, compiler = psutil.virtual_memory(), found_compiler()
    where, device = choose_backend("auto")
    return {
        **{"parkf": __version__, "python": platform.python_version(), "system": platform.platform()},
        "builds": [*_fitter.builds()],
        "current": kernel_is_current(),
        "cores": default_workers(),
        "memory_gb": round(memory.total / 1e9, 1),
        "free_gb": round(memory.available / 1e9, 1),
        "gpu": device if where == "gpu" else device.removeprefix("processor cores (").removesuffix(")"),
        "compiler": compiler and _says(compiler),
        "nvcc": _says("nvcc") if shutil.which("nvcc") else None,
        "missing": {extra: _missing(extra) for extra in TASKS},
    }


def kernel_is_current() -> bool:
    """Whether the installed kernel was compiled from today's formulas and those of published layouts.

    Changed formulas of a published layout raise a ParkfError, because no kernel can hold both versions. An
    installation without SymPy cannot read formulas, and therefore not change them.
    """
    if find_spec("sympy") is None:
        return True
    from parkf.model.steps.frozen import kernel_forms
    from parkf.params.claims import SHIPPED
    from parkf.params.registry import Registry

    wanted = kernel_forms(Registry(SHIPPED).layouts)
    return {name: forms.hash() for name, forms in wanted.items()}.items() <= _fitter.formulas.items()


def require_current_kernel() -> None:
    """Raise a ParkfError if the kernel was compiled from other formulas than today's."""
    if not kernel_is_current():
        raise ParkfError(
            f"{PROJECT}: the compiled kernel is older than the formulas, expected one of the same; run"
            " `make build`, or undo the change of the formulas"
        )


def found_compiler() -> str | None:
    """Name a C++ compiler that is installed; None where there is none."""
    return next(
        (name for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++") if shutil.which(name)), None
    )


def _says(program: str) -> str:
    """Return the line of a compiler's --version that names the version."""
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    lines = [line for line in output.splitlines() if line.strip()] or [program]
    return next((line for line in lines if "release" in line), lines[0])


def _missing(extra: str) -> list[str]:
    """Return the requirements of an extra that are not met; those of parkf itself are of the extra ""."""
    missing = []
    for requirement in map(Requirement, requires("parkf") or ()):
        name, marker = requirement.name, requirement.marker
        with_package, with_extra = (marker is None or marker.evaluate({"extra": one}) for one in ("", extra))
        if with_extra and with_package == (not extra) and name != "parkf":
            try:
                good = requirement.specifier.contains(version(name), prereleases=True)
            except PackageNotFoundError:
                good = False
            if not good:
                missing.append(f"{name}{requirement.specifier}")
    return missing
