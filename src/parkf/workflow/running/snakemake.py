"""The command line of Snakemake for a run."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT, found
from parkf.io.workers import default_workers

_MODULE = "parkf.workflow.running"
SNAKEMAKE = (sys.executable, "-m", _MODULE)
"""Words that start Snakemake for a run."""
_PROFILES = "workflow/profiles"


def command(
    configuration: Path,
    targets: Sequence[str] = (),
    *,
    rules: str = "Snakefile",
    profile: str = "local",
    cores: int | None = None,
    scratch: Path | None = None,
    dry_run: bool = False,
) -> list[str]:
    """Return the command line of Snakemake for a run in the working folder.

    The run makes `targets`, rules or files; by default, all. `rules` is the Snakefile of runs or of families;
    the one in the working folder is preferred to the project's. `profile` is the name of a folder in
    ``workflow/profiles`` of either; a missing folder raises a ParkfError. `cores` is the number of cores of
    this machine to use, by default all that this process may use. On a cluster, they run the jobs that are
    too small to submit. Jobs copy their inputs to `scratch`, a local folder of each machine, and their
    outputs back. A dry run lists the jobs that would run, and runs nothing.
    """
    # An executor submits the jobs; without one, they run on this machine.
    submits = "executor" in settings(profile)
    words = [
        *SNAKEMAKE,
        *("--nolock", "--rerun-incomplete"),
        *("--snakefile", str(found(rules)), "--workflow-profile", str(found(f"{_PROFILES}/{profile}"))),
        *("--local-cores" if submits else "--cores", str(cores or default_workers())),
        *("--configfile", str(configuration)),
    ]
    if scratch is not None:
        words += ["--default-storage-provider", "fs", "--local-storage-prefix", str(scratch)]
        words += ["--shared-fs-usage", "persistence", "sources", "source-cache", "software-deployment"]
    if dry_run:
        words.append("--dry-run")
    # Without the separator, Snakemake would read targets as configuration files.
    return [*words, "--", *targets] if targets else words


def start_jobs_alike() -> None:
    """Let the executors of this process start Snakemake for a job as it is started for a run."""
    from snakemake_interface_executor_plugins.executors.real import RealExecutor

    format_by_itself = RealExecutor.format_job_exec

    def format_job(executor: Any, job: Any) -> str:
        return format_by_itself(executor, job).replace(" -m snakemake ", f" -m {_MODULE} ", 1)

    RealExecutor.format_job_exec = format_job


def settings(profile: str) -> dict[str, Any]:
    """Return the settings of a profile; a missing folder raises a ParkfError."""
    place = found(f"{_PROFILES}/{profile}")
    file = place / "profile.yaml"
    if not file.is_file():
        known = (path for root in (Path(), PROJECT) for path in (root / _PROFILES).glob("*/profile.yaml"))
        names = ", ".join(sorted({path.parent.name for path in known}))
        raise ParkfError(f"{place}: no such profile; there are {names}")
    content = yaml.safe_load(file.read_text())
    return content if isinstance(content, dict) else {}
