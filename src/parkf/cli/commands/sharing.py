"""Commands for what runs have in common."""

import sys
import time
from typing import Annotated

import typer

from parkf.cli.commands.answers import answer
from parkf.cli.commands.options import Json
from parkf.io.terminal import aligned
from parkf.io.usage import TAKEN

app = typer.Typer()


@app.command(context_settings={"ignore_unknown_options": True})
def share(
    words: Annotated[
        list[str],
        typer.Argument(
            help="-- STORE RUN RULES -- wildcards -- parameters -- inputs -- outputs -- a command of parkf"
        ),
    ],
) -> None:
    """Run a stage whose products any run may take, or take them where a run has made them."""
    from parkf.cli.main import app as parkf
    from parkf.workflow.running.shared import SharedJob, keep, key, take

    job = SharedJob.of(words)
    deciding = job.deciding()
    name = key(deciding)
    if (entry := take(job, name)) is not None:
        made = f"{entry.made_by} made it in {entry.wall_s:.1f} s"
        print(f"{TAKEN} {job.store / name}: {made}", file=sys.stderr)
        return
    begin = time.perf_counter()
    code = parkf(list(job.command), standalone_mode=False, prog_name="parkf")
    if isinstance(code, int) and code:
        raise typer.Exit(code)
    keep(job, name, deciding, time.perf_counter() - begin)


@app.command(context_settings={"ignore_unknown_options": True})
def together(
    words: Annotated[list[str], typer.Argument(help="-- a command of parkf -- another one ...")],
) -> None:
    """Run several commands, one after the other, in a process that starts once."""
    from itertools import groupby

    from parkf.cli.main import app as parkf

    for between, command in groupby(words, "--".__eq__):
        code = None if between else parkf(list(command), standalone_mode=False, prog_name="parkf")
        if isinstance(code, int) and code:
            raise typer.Exit(code)


@app.command()
def shared(
    drop: Annotated[bool, typer.Option("--empty", help="Remove all of it; runs keep their files.")] = False,
    as_json: Json = False,
) -> None:
    """Say what runs in results/ share, and how much room that takes."""
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
