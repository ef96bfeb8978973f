"""Commands that make a working folder, and lead runs and families of runs in it."""

import subprocess
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Exit, Option, Typer

from parkf.cli.commands.options import GATES
from parkf.io.files import read_json
from parkf.io.project import found
from parkf.io.terminal import aligned, say

app = Typer()

PROOF_CROSSINGS = 60  # of each polarity: 7,000 tracks


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


@app.command(
    epilog="Example: parkf realign default fill42 --alignment data/geometry/alignment_scifi_shift.yaml"
)
def realign(
    run_name: Annotated[str, Argument(metavar="RUN", help="Run that has ended, results/<run>.")],
    name: Annotated[str, Argument(help="Name of the new set: its folder is results/<name>.")],
    alignment: Annotated[Path | None, Option(help="The new alignment (YAML).")] = None,
    geometry: Annotated[Path | None, Option(help="The new geometry (YAML).")] = None,
    field: Annotated[Path | None, Option(help="The new field (.json or .npz).")] = None,
    crossings: Annotated[
        int, Option(min=20, help="Crossings of each polarity that prove the set.")
    ] = PROOF_CROSSINGS,
    cores: Annotated[int | None, Option(min=1, help="Cores of this machine to use; all by default.")] = None,
) -> None:
    """Make a run's set anew for another alignment, in seconds: only steps whose planes moved are trained.

    Their rows are carried to the moved planes; all other numbers are kept. The set is proven on simulated
    tracks of the new detector, beside the set before and the full fit; exits with 1 if it is worse than the
    former. For another field or geometry, the whole set is trained, by a run of this name.
    """
    from parkf.cli.messages import refuse_foreign
    from parkf.io.workers import default_workers
    from parkf.workflow.realign import realign as make

    given = {"alignment": alignment, "geometry": geometry, "field source": field}
    changed = {kind: path for kind, path in given.items() if path is not None}
    if not changed:
        raise BadParameter("--alignment, --geometry or --field of the new detector is missing")
    base = Path(run_name).name
    refuse_foreign(Path("results", base))
    reasons, table = make(base, name, changed, crossings=crossings, threads=cores or default_workers())
    if not reasons:
        proof = Path("results", name, "realign.json")
        say(f"parameter set  results/{name}/set\nproof          {proof}")
        raise Exit(int(read_json(proof)["is_worse"]))
    say("\n".join([table, *(f"the whole set is trained: {reason}" for reason in reasons)]))
    run(name, cores=cores)


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
