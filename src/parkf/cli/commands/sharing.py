"""Commands that run the jobs of a workflow, and that show what runs have in common."""

import sys
import time
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Exit, Option, Typer

from parkf.cli.commands.answers import answer
from parkf.cli.commands.options import Json
from parkf.io.errors import ParkfError
from parkf.io.terminal import aligned
from parkf.io.usage import TAKEN

if TYPE_CHECKING:
    from parkf.workflow.running.jobs import Job

app = Typer()
JOB = "--job"


@app.command()
def share(
    context: Context, job: Annotated[Path, Argument(help="File of a job, results/<run>/logs/<job>.log.json.")]
) -> None:
    """Repeat a job of a run from its file, or copy its products where another run has made them."""
    from parkf.workflow.running.jobs import Job

    if code := _run(context.find_root().command, Job.read(job), []):
        raise Exit(code)


@app.command(context_settings={"ignore_unknown_options": True})
def together(
    context: Context, words: Annotated[list[str], Argument(help="-- a command of parkf -- another one ...")]
) -> None:
    """Run several commands, one after the other, in a process that starts once."""
    parkf = context.find_root().command
    for between, command in groupby(words, "--".__eq__):
        if not between and (code := call(parkf, list(command))):
            raise Exit(code)


def with_job(parkf: Any, arguments: list[str]) -> int:
    """Run ``<command> --job FILE`` with the arguments in the file and those after it; return the exit code.

    A file that is missing, or that of another command, raises a ParkfError.
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
    return _run(parkf, job, arguments[place + 2 :])


def _run(parkf: Any, job: "Job", options: list[str]) -> int:
    from parkf.workflow.running.shared import keep, key, take

    shared = job.shared() if job.is_shared else None
    deciding = {} if shared is None else shared.deciding()
    name = key(deciding)
    if shared is not None and (entry := take(shared, name)) is not None:
        made = f"{entry.made_by} made it in {entry.wall_s:.1f} s"
        print(f"{TAKEN} {shared.store / name}: {made}", file=sys.stderr)
        return 0
    begin = time.perf_counter()
    for line in job.command_lines(parkf, options):
        if code := call(parkf, line):
            return code
    if shared is not None:
        keep(shared, name, deciding, time.perf_counter() - begin)
    return 0


def call(parkf: Any, words: list[str]) -> int:
    """Run a command of parkf by its words, and return its exit code."""
    code = parkf.main(words, standalone_mode=False, prog_name="parkf")
    return code if isinstance(code, int) else 0


@app.command(epilog="Example: parkf shared")
def shared(
    drop: Annotated[bool, Option("--empty", help="Remove all of it; runs keep their files.")] = False,
    as_json: Json = False,
) -> None:
    """Report what runs in results/ share, and how much disk space that needs."""
    from parkf.workflow.running.shared import STORE, empty, listed, tidy

    if drop:
        print(f"{STORE}: {empty()} entries removed")
        return
    tidy()
    totals: dict[str, list[int]] = {}
    for command, _, size, alone in listed():
        one = totals.setdefault(command, [0, 0, 0])
        for place, more in enumerate((1, size, alone)):
            one[place] += more
    rows = [
        (command, count, f"{size / 1e6:.1f}", f"{alone / 1e6:.1f}")
        for command, (count, size, alone) in totals.items()
    ]
    content = {
        command: dict(zip(("jobs", "bytes", "bytes_of_its_own"), one, strict=True))
        for command, one in totals.items()
    }
    answer(as_json, content, lambda: aligned(("stage", "jobs", "MB", "MB that no run has"), rows))
