"""Jobs and unfinished files of a run that was killed."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from parkf.io.files import is_unfinished, scratch_folders

VARIABLE = "PARKF_RUN"
"""Names the run's folder in the environment of all its jobs."""
_PATIENCE_S = 10.0


def run_processes(folder: Path) -> Iterator[psutil.Process]:
    """Iterate over the live processes of a run: its workflow and jobs, not this process or a parent."""
    own = {psutil.Process().pid, *(process.pid for process in psutil.Process().parents())}
    for process in psutil.process_iter():
        try:
            if process.pid not in own and process.environ().get(VARIABLE) == str(folder.resolve()):
                yield process
        except (psutil.Error, OSError):
            # The environment of another user's process cannot be read.
            continue


def end_orphans(folder: Path) -> list[int]:
    """End the processes of a run whose lock the caller holds, and return their numbers."""
    orphans = alive = list(run_processes(folder))
    for action in (psutil.Process.terminate, psutil.Process.kill):
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                action(process)
        _, alive = psutil.wait_procs(alive, timeout=_PATIENCE_S)
    return [process.pid for process in orphans]


def remove_unfinished(folder: Path) -> list[Path]:
    """Remove unfinished files of writers that ended, below a run's folder and in TMPDIR; returns them."""
    unfinished = [path for path in folder.rglob(".*") if is_unfinished(path)]
    unfinished += [path for path, number in scratch_folders().items() if not psutil.pid_exists(number)]
    for path in unfinished:
        if path.is_dir():
            # Folders of another user cannot be removed, and stay.
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return unfinished
