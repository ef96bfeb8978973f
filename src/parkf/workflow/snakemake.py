"""Snakemake's command line for a run, and the process that leads the run around it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import yaml

from parkf.io import store
from parkf.io.errors import ParkfError
from parkf.io.leader import lead
from parkf.io.project import PROJECT, found
from parkf.io.terminal import is_quiet, say, shortened
from parkf.io.workers import default_workers
from parkf.workflow.held import HELD, hold, release
from parkf.workflow.repair import REPAIRED, repair

_PROFILES = "workflow/profiles"
# Attempts to make the same products right; if they are wrong even then, the disk is faulty.
_ATTEMPTS = 3
# Free space of a disk in bytes; a log never needs more.
_NO_ROOM = 1 << 20
_OUTPUT = Path("logs/snakemake.txt")
_STEPS = re.compile(r"(\d+) of (\d+) steps \(\d+%\) done")
_WRONG = re.compile(r"^.*(?:Error|Exception|error:)", re.MULTILINE)
# Characters and lines of an error that are shown.
_LONGEST, _MOST_LINES = 6000, 30


def command(
    configuration: Path,
    targets: Sequence[str] = (),
    *,
    rules: str = "Snakefile",
    profile: str = "local",
    cores: int | None = None,
    dry_run: bool = False,
) -> list[str]:
    """Return the command line of Snakemake for a run in the working folder.

    The run makes `targets`, rules or files; by default, all. `rules` is the Snakefile of runs or of families;
    the one in the working folder is preferred to the project's. `profile` is the name of a folder in
    ``workflow/profiles`` of either; a missing folder raises a ParkfError. `cores` is the number of cores of
    this machine to use, by default all that this process may use. On a cluster, they run the jobs that are
    too small to submit. A dry run lists the jobs that would run, and runs nothing.
    """
    # An executor submits the jobs; without one, they run on this machine.
    submits = "executor" in settings(profile)
    words = [
        *(sys.executable, "-P", "-m", "snakemake"),
        *("--snakefile", str(found(rules)), "--workflow-profile", str(found(f"{_PROFILES}/{profile}"))),
        *("--local-cores" if submits else "--cores", str(cores or default_workers())),
        *("--configfile", str(configuration)),
    ]
    if dry_run:
        words.append("--dry-run")
    # Without the separator, Snakemake would read targets as configuration files.
    return [*words, "--", *targets]


def settings(profile: str) -> dict[str, Any]:
    """Return the settings of a profile; a missing folder raises a ParkfError."""
    place = found(f"{_PROFILES}/{profile}")
    file = place / "profile.yaml"
    if not file.is_file():
        known = (path for root in (Path(), PROJECT) for path in (root / _PROFILES).glob("*/profile.yaml"))
        names = ", ".join(sorted({path.parent.name for path in known}))
        raise ParkfError(f"{place}: no such profile; there are {names}")
    content = yaml.safe_load(file.read_text("utf-8"))
    return content if isinstance(content, dict) else {}


def environment() -> dict[str, str]:
    """Return the environment of Snakemake: a module in the working folder is not that of a library."""
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "ignore::UserWarning:htcondor2"}


def lead_run(folder: Path, words: Sequence[str], runs: Collection[Path] = ()) -> int:
    """Run Snakemake for the run in a folder until all its products are right; return its exit code.

    `words` are from :func:`command`; `runs` are the folders of a family's members. If another run is
    active in one of the folders, a ParkfError is raised.
    """
    runs = [*runs, folder]
    targets = words[words.index("--") + 1 :]
    # Files of a run, and rules with the name of the file that they make.
    ends = [{"validate": "validation.json", "publish": "published.json"}.get(one, one) for one in targets]
    ends = [str(Path(one).relative_to(folder)) if Path(one).is_relative_to(folder) else one for one in ends]
    lead()
    code, locks = 0, [hold(one) for one in runs]
    of_snakemake = environment() | {HELD: os.pathsep.join(str(one.absolute()) for one in runs)}
    try:
        for attempt in range(_ATTEMPTS + 1):
            # A failed run is worth another attempt only if it has found a damaged file.
            kinds = REPAIRED if attempt == 0 else ("foreign",) if code else (*REPAIRED, "changed")
            found = [repair(one, ends, kinds) for one in runs]
            for line in (line for lines, _ in found for line in lines):
                _say(line)
            everything = ["--forceall"] if any(unknown for _, unknown in found) else []
            if attempt and (code or not everything) and not any(lines for lines, _ in found):
                break
            if attempt == _ATTEMPTS:
                _say(f"error: {folder}: the same files are not right after {_ATTEMPTS} attempts")
                code = code or 1
                break
            place = words.index("--")
            code = _run([*words[:place], *everything, *words[place:]], folder, of_snakemake, locks)
        if not code:
            store.tidy()
    finally:
        release()
    if code and (free := shutil.disk_usage(folder).free) < _NO_ROOM:
        # If the disk is full, the log may lack the job's own message.
        _say(
            f"error: {folder}: no space left, {free / 1e6:.1f} MB are free; make room there, and start again"
        )
    return code


def _run(words: Sequence[str], folder: Path, environment: dict[str, str], locks: Collection[int]) -> int:
    """Run Snakemake, whose text goes to a file in the folder of the run, show its progress; return its code.

    Whatever stops this process ends Snakemake and its jobs, which follow it (:mod:`parkf.io.leader`).
    """
    output = folder / _OUTPUT
    output.parent.mkdir(parents=True, exist_ok=True)
    with (
        output.open("w") as file,
        subprocess.Popen(
            words,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=locks,
        ) as process,
    ):
        for line in process.stdout or ():
            file.write(line)
            file.flush()
            _show(folder, line)
        code = process.wait()
    if code:
        text = output.read_text(errors="replace")
        wrong = _WRONG.search(text)
        shown = text[wrong.start() if wrong else 0 :][-_LONGEST:].strip()
        lines = [line if "error:" in line else shortened(line) for line in shown.splitlines() if line.strip()]
        _say("\n".join([*lines[:_MOST_LINES], f"the whole output is in {output}"]))
    return code if code >= 0 else 128 - code


def _show(folder: Path, line: str) -> None:
    """Show how far a run is: on a terminal after each job, elsewhere after each twentieth of them."""
    if (steps := _STEPS.search(line)) and not is_quiet():
        done, jobs = map(int, steps.groups())
        is_terminal = sys.stderr.isatty()
        if is_terminal or 20 * done // jobs > 20 * (done - 1) // jobs:
            end = "\r" if is_terminal and done < jobs else "\n"
            say(f"{folder}: {steps[0]}", file=sys.stderr, end=end, flush=True)


def _say(text: str) -> None:
    say(text, file=sys.stderr, flush=True)
