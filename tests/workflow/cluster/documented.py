"""The commands that the documents show."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from ..conftest import ROOT

README = ROOT / "workflow/profiles/README.md"


# What `make` and the commands find beside inputs and rules, which a project has of its own.
_BESIDE = ("Makefile", "Snakefile", "src", "benchmarks", "params", "pyproject.toml", "CMakeLists.txt")


def checkout(project):
    """Let a project's folder pass for a checkout; gives the folder."""
    for name in _BESIDE:
        (project.folder / name).symlink_to(ROOT / name)
    return project.folder


def commands():
    """Lines of the README's blocks for a shell."""
    return [
        line
        for block in re.findall(r"```bash\n(.*?)```", README.read_text(), re.S)
        for line in block.splitlines()
    ]


def snakemake(line, folder):
    """Snakemake's arguments that a `make` command calls it with, in `folder`."""
    plan = shell(f"{line} --dry-run VENV={sys.prefix}", folder)
    (command,) = [shlex.split(line) for line in plan.splitlines() if "/bin/snakemake " in line]
    program = next(number for number, word in enumerate(command) if word.endswith("/bin/snakemake"))
    return command[program + 1 :]


def shell(line, folder):
    """Run a line in `folder` with this environment's programs; gives what it prints."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
