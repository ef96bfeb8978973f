"""Full disks: at every stage the results lie on a small file system that has hardly any space left.

This needs the right to mount a file system. Root has it, and so does a process in a separate name space
(``unshare --map-root-user --mount``).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.faults.cases import Case, Journal
from tools.faults.project import RUN, WITHOUT_STORE, Project

# One product of each stage.
STAGES = (
    *(
        "field.npz",
        "particles/validation_up.parquet",
        "particles/jpsi_up.parquet",
        "states/training_up.parquet",
    ),
    *("hits/validation_up.parquet", "hits/misaligned_up.parquet", "candidates/validation_up.parquet"),
    *(
        "rows/draws/training_up.npz",
        "rows/thresholds.json",
        "rows/training_up/UT.parquet",
        "datasets/UT.parquet",
    ),
    *("table/table.npz", "fits/UT.json", "closure-tracks/closure_up.parquet", "closure/table.npz"),
    *(
        "draft/manifest.json",
        "score.json",
        "set/global.f32",
        "accuracy.json",
        "fitted/parkf/validation_up.parquet",
    ),
    *(
        "fitted/full/validation_up.parquet",
        "validation.json",
        "throughput.json",
        "stages.json",
        "report/index.html",
    ),
)
_INSIDE = "PARKF_FAULTS_MOUNTS"
_SPARE = 1 << 26


def with_mounts() -> bool:
    """Restart this program with the right to mount, without returning; return False if this is impossible."""
    if os.environ.get(_INSIDE):
        return True
    unshare = ["unshare", "--map-root-user", "--mount"]
    try:
        allowed = subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    if allowed:
        os.environ[_INSIDE] = "1"
        os.execvp("unshare", [*unshare, sys.executable, "-m", "tools.faults", *sys.argv[1:]])
    return False


def fill(finished: Project, scratch: Path, journal: Journal) -> Iterator[None]:
    """Make a product of each stage again, first without room for it, then with room; pause after each."""
    undisturbed = finished.files()
    for stage in STAGES:
        name = f"{stage}, no room"
        if name in journal:
            continue
        size = (finished.results / stage).stat().st_size
        shutil.rmtree(scratch, ignore_errors=True)
        with _mounted(scratch / "results", _size_of(finished.results) + _SPARE):
            project = _copied(finished, scratch)
            (project.results / stage).unlink()
            filler = scratch / "results/filler"
            # There is room for a log and the lock, but not for the product: half of its size, or one page.
            _take_all_but(filler, max(4096, size // 2 if size > 1 << 16 else 4096))
            full = project.run(stage)
            left = [
                p for p in project.results.rglob("*") if p.name.startswith(".") and p.name.endswith(".tmp")
            ]
            filler.unlink()
            again = project.run(stage)
            right = stage not in undisturbed or project.files().get(stage) == undisturbed[stage]
        said = full.lines("no space left|No space left")
        told = full.code == 0 or (full.clear and bool(said))
        first = said or f"code {full.code}: {full.said[-200:]!r}"
        outcome = f"{first}; then code {again.code}, {'right' if right else 'WRONG'}"
        if left:
            outcome += f"; {left[0].name} stayed"
        journal.add(Case("disk full", name, outcome, told and again.code == 0 and right))
        yield


def _copied(finished: Project, scratch: Path) -> Project:
    """Copy the run into a folder that already contains `results`."""
    shutil.copytree(finished.folder, scratch, symlinks=True, dirs_exist_ok=True, ignore=WITHOUT_STORE)
    return Project(scratch)


def _size_of(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def _take_all_but(filler: Path, room: int) -> None:
    free = os.statvfs(filler.parent)
    taken = free.f_bavail * free.f_frsize - room
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, taken)


@contextmanager
def _mounted(folder: Path, size: int) -> Iterator[None]:
    folder.mkdir(parents=True)
    options = f"size={-(-size // 4096) * 4096}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, RUN, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
