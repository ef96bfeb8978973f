"""Commands that make a working folder, and lead runs and families of runs in it."""

import subprocess
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option, Typer

from parkf.cli.commands.options import GATES
from parkf.io.project import found
from parkf.io.terminal import aligned, say

app = Typer()


@app.command(epilog="Example: parkf init alignment-2026")
def init(
    folder: Annotated[Path, Argument(help="Folder to make; files that exist stay as they are.")],
) -> None:
    """Make a working folder: configurations, profiles, geometries, alignments, a field, and a Snakefile."""
    from parkf.workflow.folder import make_folder

    made, there = make_folder(folder)
    kept = f"; {len(there)} that were there stay as they are" if there else ""
    say(f"{folder}: {len(made)} files made{kept}")
    say(f"next: cd {folder} && parkf run smoke")


@app.command(epilog="Example: parkf check workflow/config/default.yaml")
def check(
    configuration: Annotated[Path, Argument(help="workflow/config/<run>.yaml, or file of a family.")],
    family: Annotated[bool, Option("--family", help="The configuration is that of a family.")] = False,
) -> None:
    """Check all files that a run would read: configuration, detector, field, imported files, gates.

    Of a family, its runs are listed with their own settings.
    """
    _runs(configuration, family)
    if family:
        from parkf.workflow.family import read_family

        rows = [
            (one.config["run"], ", ".join(f"{key}: {value}" for key, value in one.own.items()))
            for one in read_family(configuration, Path()).members
        ]
        say(aligned(("run", "its own"), rows))
    say(f"{configuration}: good, and so is all that it names")


@app.command(epilog="Example: parkf run smoke")
def run(
    name: Annotated[str, Argument(help="Name of a configuration: workflow/config/<name>.yaml.")] = "default",
    targets: Annotated[
        list[str] | None, Argument(help="validate, publish, or files; by default, all up to the report.")
    ] = None,
    family: Annotated[
        bool, Option("--family", help="Run a family of sets: workflow/config/families/<name>.yaml.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="List what would run now, and run nothing.")] = False,
    profile: Annotated[str, Option(help="Where jobs run: name of a folder in workflow/profiles.")] = "local",
    cores: Annotated[int | None, Option(min=1, help="Cores of this machine to use; all by default.")] = None,
) -> None:
    """Check a configuration, then train, validate and report; an interrupted run continues.

    The exit code is Snakemake's.
    """
    from parkf.cli.commands.results import print_end
    from parkf.workflow.snakemake import command, environment, lead_run

    configuration = Path(f"workflow/config/{'families/' if family else ''}{name}.yaml")
    results, *members = _runs(configuration, family)
    words = command(
        configuration,
        targets or (),
        rules="workflow/family.smk" if family else "Snakefile",
        profile=profile,
        cores=cores,
        dry_run=dry_run,
    )
    if dry_run:
        raise Exit(subprocess.run(words, check=False, env=environment()).returncode)
    code = lead_run(results, words, members)
    # Each round of a calibration may be a reason for another one.
    while code == 0 and family and not targets and (now := _runs(configuration, family)[1:]) != members:
        members, code = now, lead_run(results, words, now)
    if code == 0 and not family:
        if not targets:
            print_end(results, found(GATES))
        elif "publish" in targets:
            say((results / "published.json").read_text("utf-8"), end="")
    raise Exit(code)


def _runs(configuration: Path, family: bool) -> list[Path]:
    """Check all that a run or a family would read, and return its folder, and those of a family's members."""
    from parkf.proof.gates import load_thresholds
    from parkf.workflow.config import check_name, read_config
    from parkf.workflow.family import read_family

    load_thresholds(found(GATES))
    if family:
        read = read_family(configuration, Path())
        return [Path("results", one) for one in (read.name, *(run.config["run"] for run in read.members))]
    config = read_config(configuration, Path())
    check_name(configuration, config)
    return [Path("results", str(config["run"]))]
