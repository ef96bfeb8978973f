"""The commands that the documents show."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from typer.main import get_command

from parkf.cli.main import app
from parkf.workflow.snakemake import command

from ..conftest import ROOT

README = ROOT / "workflow/profiles/README.md"


# Files that `make` and the commands need; a project has its own inputs and rules.
_BESIDE = ("Makefile", "Snakefile", "src", "benchmarks", "pyproject.toml", "CMakeLists.txt")


def checkout(project):
    """Make a project's folder look like a checkout; return the folder."""
    for name in _BESIDE:
        (project.folder / name).symlink_to(ROOT / name)
    # Commands may publish and withdraw in a registry of their own.
    shutil.copytree(ROOT / "params", project.folder / "params", dirs_exist_ok=True)
    return project.folder


def commands():
    """Lines of the README's blocks for a shell."""
    return [
        line
        for block in re.findall(r"```bash\n(.*?)```", README.read_text(), re.S)
        for line in block.splitlines()
    ]


def snakemake(line, folder):
    """Return the arguments with which a `make` command in `folder` calls Snakemake."""
    plan = shell(f"{line} --dry-run VENV={sys.prefix}", folder)
    (words,) = [shlex.split(line)[2:] for line in plan.splitlines() if "/bin/parkf run " in line]
    group = get_command(app)
    given = group.get_command(group.context_class(group), "run").make_context("run", words).params
    assert not given.pop("family")
    configuration = Path(f"workflow/config/{given.pop('name')}.yaml")
    with contextlib.chdir(folder):
        called = command(configuration, given.pop("targets") or (), **given)
    # The separator before targets, of which none are given.
    assert called[-1] == "--"
    return called[called.index("snakemake") + 1 : -1]


def shell(line, folder):
    """Run a line in `folder` with this environment's programs; return its output."""
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
