"""Intermediates that are damaged behind the run's back, and read again by the next stage."""

import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.cases import Case, Journal
from benchmarks.faults.project import Ended, Project

from parkf.running.verify import verify

# Each kind of intermediate, with what a cheap job makes of it.
READ_BY = {
    "field.npz": "fitted/full/validation_up.parquet",
    "particles/training_up.parquet": "rows/draws/training_up.npz",
    "particles/validation_up.parquet": "validation.json",
    "particles/jpsi_up.parquet": "validation.json",
    "states/training_up.parquet": "rows/draws/training_up.npz",
    "hits/validation_up.parquet": "candidates/validation_up.parquet",
    "fates/validation_up.parquet": "validation.json",
    "candidates/validation_up.parquet": "fitted/parkf/validation_up.parquet",
    "candidates/training_up.parquet": "score.json",
    "rows/draws/training_up.npz": "rows/thresholds.json",
    "rows/thresholds.json": "rows/training_up/UT.parquet",
    "rows/training_up/UT.parquet": "datasets/UT.parquet",
    "datasets/BEAM.parquet": "fits/BEAM.json",
    "fits/T.json": "draft/manifest.json",
    "table/table.npz": "fits/UTTF.json",
    "table/accuracy.json": "accuracy.json",
    "closure-tracks/closure_up.parquet": "closure/table.npz",
    "closure/table.npz": "draft/manifest.json",
    "closure/closure.json": "draft/manifest.json",
    "closure/accuracy.json": "accuracy.json",
    "draft/constant.f32": "score.json",
    "draft/global.f32": "score.json",
    "draft/manifest.json": "score.json",
    "score.json": "set/manifest.json",
    "set/constant.f32": "fitted/parkf/validation_up.parquet",
    "set/global.f32": "fitted/parkf/validation_up.parquet",
    "set/ghosts.f32": "fitted/parkf/validation_up.parquet",
    "set/manifest.json": "fitted/parkf/validation_up.parquet",
    "fitted/parkf/validation_up.parquet": "validation.json",
    "fitted/full/validation_up.parquet": "validation.json",
    "validation.json": "report/index.html",
    "accuracy.json": "report/index.html",
}
_HOW = ("flip", "truncate", "empty")


@dataclass(frozen=True)
class Damage:
    """What happens to a file: a bit flips, its end is lost, or all of it; its times stay, or are new."""

    number: int
    how: str
    path: str
    old_times: bool
    at: float  # where, as a share of its length

    @property
    def name(self) -> str:
        """Give it a name of its own."""
        return f"{self.number}: {self.path}, {'old' if self.old_times else 'new'} times"

    def do(self, path: Path) -> str:
        """Damage the file; say where."""
        content, times = bytearray(path.read_bytes()), path.stat()
        place = min(int(self.at * len(content)), len(content) - 1)
        if self.how == "flip":
            content[place] ^= 1 << self.number % 8
        else:
            del content[0 if self.how == "empty" else place :]
        path.chmod(0o644)
        path.write_bytes(content)
        if self.old_times:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return f"byte {place}"


def plan(seed: int, count: int) -> Iterator[Damage]:
    """Go through kinds of files, of damage and of times in turn; places are random."""
    draw = random.Random(seed)
    paths = list(READ_BY)
    for number in range(count):
        turn = number // len(paths)
        yield Damage(
            number=number,
            # Three of five flip a bit: what is hardest to notice.
            how=_HOW[(0, 1, 0, 2, 0)[turn % 5]],
            path=paths[number % len(paths)],
            old_times=(number + turn) % 2 == 0,
            at=draw.random(),
        )


def damage(finished: Project, scratch: Path, cases: Iterator[Damage], journal: Journal) -> None:
    """Damage a file of a finished run, have it read, and look at what came of both."""
    undisturbed = finished.files()
    for case in cases:
        if case.name in journal:
            continue
        project = finished.copy(scratch)
        target = READ_BY[case.path]
        where = case.do(project.results / case.path)
        (project.results / target).unlink()
        ended = project.run(target)
        journal.add(Case(case.how, case.name, *_outcome(project, undisturbed, case, where, ended)))


def _outcome(
    project: Project, undisturbed: Mapping[str, bytes], case: Damage, where: str, ended: Ended
) -> tuple[str, bool]:
    files, target, code = project.files(), READ_BY[case.path], ended.code
    file_right = files.get(case.path) == undisturbed[case.path]
    # Pages show figures of the moment.
    target_right = target not in undisturbed or files.get(target) == undisturbed[target]
    if code == 0 and target_right and file_right:
        return (
            f"{where}: {'found, removed and made again' if ended.lines('made again') else 'made again'}",
            True,
        )
    if code == 0 and target_right:
        found = any(case.path in problem for problem in verify(project.results)[1])
        told = "parkf verify names it" if found else "and parkf verify does NOT name it"
        return f"{where}: not read by {target}, which is the undisturbed one; {told}", found
    if code != 0 and ended.clear and ended.lines(rf"^error: .*{case.path.rsplit('/', 1)[-1]}"):
        return f"{where}: {ended.lines('^error: ')}", True
    return (
        f"{where}: code {code}, {target} {'right' if target_right else 'WRONG'}: {ended.lines('rror')}",
        False,
    )
