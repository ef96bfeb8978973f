"""The command line of Snakemake for a run."""

import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT, found
from parkf.io.workers import default_workers

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

    Parameters
    ----------
    configuration : Path
        Configuration of a run or a family.
    targets : sequence of str
        Rules or files to make; by default, the whole run.
    rules : str
        Snakefile of runs or of families; that of the working folder where it exists, or else the project's.
    profile : str
        Name of a folder in ``workflow/profiles`` of the working folder or of the project. If there is none,
        it is a ParkfError.
    cores : int, optional
        Cores of this machine; by default, all that this process may use. On a cluster, they run the jobs that
        are too small to submit.
    scratch : Path, optional
        Local folder of each machine. Jobs copy their inputs there, and their outputs back.
    dry_run : bool
        Whether to list the jobs that would run, and run nothing.
    """
    place = found(f"{_PROFILES}/{profile}")
    file = place / "profile.yaml"
    if not file.is_file():
        known = (path for root in (Path(), PROJECT) for path in (root / _PROFILES).glob("*/profile.yaml"))
        names = ", ".join(sorted({path.parent.name for path in known}))
        raise ParkfError(f"{place}: no such profile; there are {names}")
    content = yaml.safe_load(file.read_text())
    # An executor submits the jobs; without one, they run on this machine.
    submits = isinstance(content, dict) and content.get("executor")
    words = [
        *(sys.executable, "-m", "snakemake", "--nolock", "--rerun-incomplete"),
        *("--snakefile", str(found(rules)), "--workflow-profile", str(place)),
        *("--local-cores" if submits else "--cores", str(cores or default_workers())),
        *("--configfile", str(configuration)),
    ]
    if scratch is not None:
        words += ["--default-storage-provider", "fs", "--local-storage-prefix", str(scratch)]
        words += ["--shared-fs-usage", "persistence", "sources", "source-cache", "software-deployment"]
    if dry_run:
        words.append("--dry-run")
    # Without the separator, targets would be read as configuration files.
    return [*words, "--", *targets] if targets else words
