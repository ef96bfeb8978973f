"""How to ask a compiler of CUDA whether it takes a source, in a fifth of the time."""

import re
import subprocess


def quick(release: int) -> list[str]:
    """Return the options for this release of CUDA.

    Most of the time goes into making the code fast. Without that, the compiler still makes machine code, and
    refuses the same: what the language lacks, missing headers, too much shared memory.
    """
    return ["--Ofast-compile=max"] if release >= 13 else []


def quick_nvcc() -> list[str]:
    """Return the options for the nvcc of this machine."""
    said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return quick(int(re.search(r"release (\d+)", said)[1]))
