"""The kernel of a checkout, compiled again when the formulas have changed."""

import subprocess
import sys

from parkf.io.errors import ParkfError
from parkf.io.project import IS_CHECKOUT, PROJECT
from parkf.workflow.installation import found_compiler


def compile_kernel() -> None:
    """Compile the kernel from today's formulas; other processes find it from then on.

    Raises
    ------
    ParkfError
        Without a checkout, without a compiler, and when the compiler fails.
    """
    if not IS_CHECKOUT:
        raise ParkfError(
            f"{PROJECT.parent / 'steps'}: the formulas are not those that the kernel was compiled from; undo"
            " the change, or make it in a checkout, which `make build` compiles"
        )
    if found_compiler() is None:
        raise ParkfError(
            "the formulas have changed, and there is no C++ compiler to compile them with; install one"
            " (g++ or clang++), or name it in CXX"
        )
    install = ("pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--editable", str(PROJECT))
    # Use new processes, because this one has the old kernel loaded.
    for module in (install, ("parkf.cli.main", "kernel")):
        if subprocess.run([sys.executable, "-m", *module], check=False).returncode != 0:
            raise ParkfError(f"{PROJECT}: the kernel was not compiled; what was wrong is said above")
