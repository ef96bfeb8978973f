"""The installation: versions, processors that fits run on, and packages that a task lacks.

The packages that each task needs are read from the metadata of parkf.
"""

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

import psutil
from packaging.requirements import Requirement

import parkf._fitter as _fitter
from parkf import __version__
from parkf.io.workers import default_workers

# Tasks by the extra of the package that brings what they need; "" is the package itself.
TASKS: Mapping[str, str] = {
    "": "train, validate, publish and fit",
    "gpu": "fit on a GPU",
    "slurm": "run on a Slurm cluster",
    "htcondor": "run on an HTCondor pool",
    "scratch": "copy files to the node that a job runs on",
    "acts": "compare the propagation with ACTS",
    "dev": "change formulas or code, and test",
}
_COMPILERS = ("c++", "g++", "clang++")


@dataclass(frozen=True)
class Package:
    """A package that a task needs, the accepted versions (``>=2.0``), and the installed one, if any."""

    name: str
    asked: str
    found: str | None
    good: bool


@dataclass(frozen=True)
class Task:
    """Something to do with parkf, and the packages that it needs."""

    extra: str
    what: str
    packages: tuple[Package, ...]

    @property
    def missing(self) -> tuple[Package, ...]:
        """Packages that are not installed, or whose version is not accepted."""
        return tuple(one for one in self.packages if not one.good)


@dataclass(frozen=True)
class Installation:
    """Everything that ``parkf doctor`` reports."""

    # Of parkf, Python and the operating system.
    versions: dict[str, str]
    # Instruction sets of the compiled kernel that this processor supports; fits use the first.
    builds: tuple[str, ...]
    # Whether the kernel was compiled from the formulas of the installed package.
    current: bool
    # That this process may use.
    cores: int
    # Memory of this machine, and its free part, GB (10⁹ bytes).
    memory_gb: float
    free_gb: float
    # Name of the GPU, or the reason why fits cannot use one.
    gpu: str
    # Line of the compiler's output with its version; None where the compiler is missing.
    compiler: str | None
    nvcc: str | None
    tasks: tuple[Task, ...]


def examine() -> Installation:
    """Return the properties of this installation and its machine."""
    from parkf.fit.gpu import choose_backend

    memory = psutil.virtual_memory()
    where, device = choose_backend("auto")
    compiler = found_compiler()
    return Installation(
        versions={"parkf": __version__, "python": platform.python_version(), "system": platform.platform()},
        builds=tuple(_fitter.builds()),
        current=kernel_is_current(),
        cores=default_workers(),
        memory_gb=round(memory.total / 1e9, 1),
        free_gb=round(memory.available / 1e9, 1),
        gpu=device if where == "gpu" else device.removeprefix("processor cores (").removesuffix(")"),
        compiler=compiler and _says(compiler),
        nvcc=_says("nvcc") if shutil.which("nvcc") else None,
        tasks=tuple(Task(extra, what, _packages(extra)) for extra, what in TASKS.items()),
    )


def kernel_is_current() -> bool:
    """Whether the installed kernel was compiled from today's formulas and those of published layouts.

    Raises
    ------
    ParkfError
        When formulas of a published layout have changed: there is no kernel for both.
    """
    from parkf.model.steps.frozen import kernel_forms
    from parkf.params.registry import SHIPPED, Registry

    wanted = kernel_forms(Registry(SHIPPED).layouts)
    return {name: forms.hash() for name, forms in wanted.items()}.items() <= _fitter.formulas.items()


def found_compiler() -> str | None:
    """Name a C++ compiler that is installed; None where there is none."""
    return next((name for name in (os.environ.get("CXX", ""), *_COMPILERS) if shutil.which(name)), None)


def _says(program: str) -> str:
    """Return the line of a compiler's --version that names the version."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    lines = [line for line in said.splitlines() if line.strip()]
    return next((line for line in lines if "release" in line), lines[0] if lines else program)


def _packages(extra: str) -> tuple[Package, ...]:
    """List the packages of an extra that are not of the package itself, too."""
    found = []
    for requirement in map(Requirement, requires("parkf") or ()):
        marker = requirement.marker
        with_package, with_extra = (
            marker is None or marker.evaluate({"extra": name}) for name in ("", extra)
        )
        if with_extra and with_package == (not extra) and requirement.name != "parkf":
            found.append(_package(requirement))
    return tuple(found)


def _package(requirement: Requirement) -> Package:
    try:
        installed = version(requirement.name)
    except PackageNotFoundError:
        return Package(requirement.name, str(requirement.specifier), None, good=False)
    good = requirement.specifier.contains(installed, prereleases=True)
    return Package(requirement.name, str(requirement.specifier), installed, good)
