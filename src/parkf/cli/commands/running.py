"""Commands that make a working folder, and lead runs, their jobs and families of runs in it."""

import sys
import time
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Exit, Option, Typer

from parkf.cli.commands.options import GATES, GatesFile, Json
from parkf.cli.messages import answer, written
from parkf.io.errors import ParkfError
from parkf.io.project import found
from parkf.io.terminal import aligned, say
from parkf.io.usage import TAKEN

if TYPE_CHECKING:
    from parkf.workflow.running.jobs import Job

app = Typer()
families = Typer(
    help="Families of runs: many alignments, fields and geometries, trained together.",
    no_args_is_help=True,
    epilog="Example: parkf family members workflow/config/families/alignments.yaml",
)

JOB = "--job"


@app.command(epilog="Example: parkf init alignment-2026")
def init(
    folder: Annotated[Path, Argument(help="Folder to make; files that exist stay as they are.")],
) -> None:
    """Make a working folder: configurations, profiles, geometries, alignments, a field, and a Snakefile."""
    from parkf.workflow.running.folder import make_folder

    made, there = make_folder(folder)
    kept = f"; {len(there)} that were there stay as they are" if there else ""
    say(f"{folder}: {len(made)} files made{kept}")
    say(f"next: cd {folder} && parkf run smoke")


@app.command(epilog="Example: parkf check workflow/config/default.yaml")
def check(
    configuration: Annotated[Path, Argument(help="workflow/config/<run>.yaml, or file of a family.")],
    family: Annotated[bool, Option("--family", help="The configuration is that of a family.")] = False,
) -> None:
    """Check all files that a run would read: configuration, detector, field, imported files, gates."""
    _name_of(configuration, family)
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
    scratch: Annotated[Path | None, Option(help="Local folder of each machine, for copies of files.")] = None,
) -> None:
    """Check a configuration, then train, validate and report; an interrupted run continues.

    The exit code is Snakemake's.
    """
    import os
    import subprocess

    from parkf.cli.commands.results import print_brief, where
    from parkf.workflow.running.snakemake import command, settings
    from parkf.workflow.running.supervise import SETTINGS, supervise

    configuration = Path(f"workflow/config/{'families/' if family else ''}{name}.yaml")
    results = Path("results", _name_of(configuration, family))
    words = command(
        configuration,
        targets or (),
        rules="workflow/family.smk" if family else "Snakefile",
        profile=profile,
        cores=cores,
        scratch=scratch,
        dry_run=dry_run,
    )
    if dry_run:
        raise Exit(subprocess.run(words, check=False, env=os.environ | SETTINGS).returncode)
    extent = _extent(configuration) if family else None
    code = supervise(results, words)
    # Each round of a calibration may be a reason for another one.
    while code == 0 and family and not targets and (now := _extent(configuration)) != extent:
        extent, code = now, supervise(results, words)
    stored = "" if scratch is not None else settings(profile).get("default-storage-prefix", "")
    if code == 0 and stored:
        say(f"{results}: its products are in {stored}/{results}, its logs are here")
    elif code == 0 and not family:
        if not targets:
            (where if sys.stdout.isatty() else print_brief)(results, found(GATES))
        elif "publish" in targets:
            say((results / "published.json").read_text(), end="")
    raise Exit(code)


def _extent(configuration: Path) -> tuple[int, int]:
    """Return the numbers of a family's members and of those that are reported."""
    from parkf.workflow.family import read_family

    family = read_family(configuration, Path())
    return len(family.members), len(family.reported)


def _name_of(configuration: Path, family: bool) -> str:
    """Check all that a run or a family would read, and return its name."""
    from parkf.proof.gates import load_thresholds
    from parkf.workflow.config import check_name, read_config
    from parkf.workflow.family import read_family

    load_thresholds(found(GATES))
    if family:
        return read_family(configuration, Path()).name
    config = read_config(configuration, Path())
    check_name(configuration, config)
    return str(config["run"])


@app.command(context_settings={"ignore_unknown_options": True})
def supervise(
    folder: Annotated[Path, Argument(help="results/<run>")],
    command: Annotated[list[str], Argument(help="Snakemake and its arguments, after --")],
) -> None:
    """Run Snakemake alone in the folder of a run, and remove what a killed run left there."""
    from parkf.workflow.running.supervise import supervise as run

    raise Exit(run(folder, command))


@app.command()
def share(
    context: Context, job: Annotated[Path, Argument(help="File of a job, results/<run>/logs/<job>.log.json.")]
) -> None:
    """Repeat a job of a run from its file, or copy its products if another run has made them."""
    from parkf.workflow.running.jobs import Job

    if code := _run(context.find_root().command, job, Job.read(job), []):
        raise Exit(code)


@app.command(context_settings={"ignore_unknown_options": True})
def together(
    context: Context, words: Annotated[list[str], Argument(help="-- a command of parkf -- another one ...")]
) -> None:
    """Run several commands, one after the other, in the same process."""
    parkf = context.find_root().command
    for between, command in groupby(words, "--".__eq__):
        if not between and (code := call(parkf, list(command))):
            raise Exit(code)


def with_job(parkf: Any, arguments: list[str]) -> int:
    """Run ``<command> --job FILE`` with the arguments in the file and those after it; return the exit code.

    A file that is missing, or is for another command, raises a ParkfError.
    """
    from parkf.workflow.running.jobs import Job

    place = arguments.index(JOB)
    asked = " ".join(word for word in arguments[:place] if not word.startswith("-"))
    if place + 1 == len(arguments):
        raise ParkfError(f"{asked}: {JOB} needs the file of a job, results/<run>/logs/<job>.log.json")
    file = Path(arguments[place + 1])
    job = Job.read(file)
    if job.command != asked:
        raise ParkfError(f"{file}: a job of `parkf {job.command}`, not of `parkf {asked}`")
    return _run(parkf, file, job, arguments[place + 2 :])


def _run(parkf: Any, file: Path, job: "Job", options: list[str]) -> int:
    from parkf.workflow.running.records import products_of, write_record
    from parkf.workflow.running.shared import STORE, keep, key, take

    inputs = job.fingerprints()
    deciding = job.decided_by(inputs) if job.is_shared else {}
    name = key(deciding)
    if job.is_shared and (entry := take(job, name)) is not None:
        made = f"{entry.made_by} made it in {entry.wall_s:.1f} s"
        say(f"{TAKEN} {STORE / name}: {made}", file=sys.stderr)
        write_record(file, inputs, dict(zip(job.outputs, entry.fingerprints, strict=True)))
        return 0
    begin = time.perf_counter()
    for line in job.command_lines(parkf, options):
        if code := call(parkf, line):
            return code
    wall_s = time.perf_counter() - begin
    # The shell writes what the command prints into an output of some jobs.
    sys.stdout.flush()
    products = products_of(job)
    if job.is_shared:
        keep(job, deciding, products, wall_s)
    write_record(file, inputs, products)
    return 0


def call(parkf: Any, words: list[str]) -> int:
    """Run the words of a command line as a command of parkf, and return its exit code."""
    code = parkf.main(words, standalone_mode=False, prog_name="parkf")
    return code if isinstance(code, int) else 0


@app.command(epilog="Example: parkf shared")
def shared(
    drop: Annotated[bool, Option("--empty", help="Remove shared products; runs keep their files.")] = False,
    as_json: Json = False,
) -> None:
    """Report the products that runs in results/ share, and the disk space that these need."""
    from parkf.workflow.running.shared import STORE, empty, listed, tidy

    if drop:
        say(f"{STORE}: {empty()} entries removed")
        return
    tidy()
    content: dict[str, dict[str, int]] = {}
    for command, _, size, alone in listed():
        one = content.setdefault(command, {"jobs": 0, "bytes": 0, "bytes_of_its_own": 0})
        one["jobs"] += 1
        one["bytes"] += size
        one["bytes_of_its_own"] += alone
    rows = [
        (command, one["jobs"], f"{one['bytes'] / 1e6:.1f}", f"{one['bytes_of_its_own'] / 1e6:.1f}")
        for command, one in content.items()
    ]
    answer(as_json, content, aligned(("stage", "jobs", "MB", "MB that no run has"), rows))


@families.command(epilog="Example: parkf family members workflow/config/families/alignments.yaml")
def members(
    configuration: Annotated[Path, Argument(help="Configuration of a family (YAML).")],
) -> None:
    """List the runs of a family, their own settings, and the products that they link from another member."""
    from parkf.workflow.family import read_family, sources

    family = read_family(configuration, Path.cwd())
    shared = sources(family.members, Path.cwd())
    rows = []
    for member in family.members:
        makers = {product: maker for product, (maker, _) in shared[member.name].items()}
        others = dict.fromkeys(maker for maker in makers.values() if maker != member.name)
        taken = {maker: ", ".join(one for one in makers if makers[one] == maker) for maker in others}
        own = ", ".join(f"{key}: {value}" for key, value in member.own.items())
        links = "; ".join(f"{products} of {maker}" for maker, products in taken.items())
        rows.append((member.config["run"], own, links))
    say(aligned(("run", "its own", "takes"), rows))


@families.command(
    epilog="Example: parkf family report results/alignments/index.html results/alignments.nominal"
    " results/alignments.velo_shift"
)
def report(
    index: Annotated[Path, Argument(help="Page to write: results/<family>/index.html.")],
    runs: Annotated[list[Path], Argument(help="Folders of finished runs.")],
    gates: GatesFile = GATES,
) -> None:
    """Write the page that compares the runs of a family."""
    from parkf.proof.gates import load_thresholds
    from parkf.report.family import write_family

    write_family(runs, index, load_thresholds(gates))
    written(index)
