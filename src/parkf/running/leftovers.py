"""What a run that was killed leaves behind: its jobs, and files that they had not finished."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from parkf.files import is_unfinished

VARIABLE = "PARKF_RUN"
"""Names the run's folder in the environment of all its jobs."""
_PATIENCE_S = 10.0


def end_orphans(folder: Path) -> list[int]:
    """End what still works for a run that nobody leads any more.

    Parameters
    ----------
    folder : Path
        Of the run, whose lock the caller holds.

    Returns
    -------
    list of int
        Numbers of the processes.
    """
    orphans = list(_jobs(folder))
    for process in orphans:
        _quietly(process.terminate)
    _, alive = psutil.wait_procs(orphans, timeout=_PATIENCE_S)
    for process in alive:
        _quietly(process.kill)
    psutil.wait_procs(alive, timeout=_PATIENCE_S)
    return [process.pid for process in orphans]


def remove_unfinished(folder: Path) -> list[Path]:
    """Remove temporary files of writers that are no more; gives their names."""
    unfinished = [path for path in folder.rglob(".*") if is_unfinished(path) and path.is_file()]
    for path in unfinished:
        path.unlink(missing_ok=True)
    return unfinished


def _jobs(folder: Path) -> Iterator[psutil.Process]:
    own = {psutil.Process().pid, *(process.pid for process in psutil.Process().parents())}
    for process in psutil.process_iter():
        try:
            if process.pid not in own and process.environ().get(VARIABLE) == str(folder.resolve()):
                yield process
        except (psutil.Error, OSError):
            # Others' processes keep their environment to themselves.
            continue


def _quietly(action: Callable[[], None]) -> None:
    # It may have ended by itself.
    with suppress(psutil.NoSuchProcess):
        action()
