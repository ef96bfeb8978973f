"""Prints the packages that parkf and one of its extras need, a line each, for pip.

    python tools/requirements.py train

The Makefile installs them while the kernel is compiled.
"""

import sys
import tomllib
from pathlib import Path

if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    print(*project["dependencies"], *project["optional-dependencies"][sys.argv[1]], sep="\n")
