"""Commands that make a working folder, and lead runs in it."""

from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.options import GATES

app = typer.Typer()


@app.command()
def init(
    folder: Annotated[
        Path, typer.Argument(help="Made where it is missing; files that are there stay as they are.")
    ],
) -> None:
    """Make a working folder: configurations, geometries, alignments, a field, and a Snakefile."""
    from parkf.workflow.running.folder import make_folder

    made, there = make_folder(folder)
    kept = f"; {len(there)} that were there stay as they are" if there else ""
    print(f"{folder}: {len(made)} files made{kept}")
    print(f"next: cd {folder} && parkf run smoke")


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="Of workflow/config/<name>.yaml.")] = "default",
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="validate, publish, or files to make; by default, all up to the report.", show_default=False
        ),
    ] = None,
    family: Annotated[
        bool, typer.Option("--family", help="Several sets in one go: workflow/config/families/<name>.yaml.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run now, and run nothing.")
    ] = False,
    profile: Annotated[str, typer.Option(help="Where jobs run: a folder of workflow/profiles.")] = "local",
    cores: Annotated[
        int | None,
        typer.Option(min=1, help="Cores of this machine to use; all by default.", show_default=False),
    ] = None,
    scratch: Annotated[
        Path | None,
        typer.Option(
            help="Folder that each machine has of its own, for copies of files.", show_default=False
        ),
    ] = None,
) -> None:
    """Train, validate and report: check a configuration, and lead its run to the end or on from where it was.

    Exits as Snakemake does.
    """
    import subprocess

    from parkf.workflow.running.snakemake import command
    from parkf.workflow.running.supervise import supervise

    configuration, results = _checked(name, family)
    words = command(
        configuration,
        targets or (),
        rules="workflow/family.smk" if family else "Snakefile",
        profile=profile,
        cores=cores,
        scratch=scratch,
        dry_run=dry_run,
    )
    code = subprocess.run(words, check=False).returncode if dry_run else supervise(results, words)
    if code == 0 and not dry_run and not family:
        _say_outcome(results, targets or [])
    raise typer.Exit(code)


def _checked(name: str, family: bool) -> tuple[Path, Path]:
    """Check all inputs of a run or a family; return its configuration and its folder of results."""
    from parkf.io.project import found
    from parkf.proof.gates import load_thresholds
    from parkf.workflow.config import read_config
    from parkf.workflow.family import read_family

    schemas = found("workflow/schemas")
    load_thresholds(found(GATES))
    if family:
        path = Path(f"workflow/config/families/{name}.yaml")
        return path, Path("results", read_family(path, schemas, Path()).name)
    path = Path(f"workflow/config/{name}.yaml")
    return path, Path("results", read_config(path, schemas / "config.schema.json", Path())["run"])


def _say_outcome(results: Path, targets: list[str]) -> None:
    from parkf.io.project import found
    from parkf.proof.gates import load_thresholds
    from parkf.report.summary import summary

    if not targets:
        print(summary(results, load_thresholds(found(GATES))))
    elif "publish" in targets:
        print((results / "published.json").read_text(), end="")


@app.command(context_settings={"ignore_unknown_options": True})
def supervise(
    folder: Annotated[Path, typer.Argument(help="results/<run>")],
    command: Annotated[list[str], typer.Argument(help="Snakemake and its arguments, after --")],
) -> None:
    """Lead a run: one at a time in a folder, past what a killed one left behind."""
    from parkf.workflow.running.supervise import supervise as run

    raise typer.Exit(run(folder, command))
