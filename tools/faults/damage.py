"""Damages intermediate files without the run's knowledge, and has the next stage read them."""

import os
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from parkf.workflow.running.damage import verify
from tools.faults.cases import Case, Journal
from tools.faults.project import Ended, Project

# Each kind of intermediate, with the product that a cheap job makes from it.
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
# Damage in each round of all kinds of files. Three of five rounds flip a bit, which is hardest to notice.
_HOW = ("flip", "truncate", "empty", "flip", "flip")


@dataclass(frozen=True)
class Damage:
    """Damage to a file: a flipped bit, or the loss of its end or of all content, with old or new times."""

    number: int
    how: str
    path: str
    old_times: bool
    at: float  # position of the damage, as a fraction of the file's length
    in_run: bool  # whether the whole run must continue, or only the next job must report the damage

    @property
    def name(self) -> str:
        """Return a unique name."""
        read = "run" if self.in_run else "next job"
        return f"{self.number}: {self.path}, {'old' if self.old_times else 'new'} times, {read}"

    def do(self, path: Path) -> str:
        """Damage the file; return a description of the position."""
        content, times = bytearray(path.read_bytes()), path.stat()
        place = min(int(self.at * len(content)), len(content) - 1)
        if self.how == "flip":
            content[place] ^= 1 << self.number % 8
        else:
            del content[0 if self.how == "empty" else place :]
        # The files of a copy may be links, so the file is replaced, not changed.
        path.unlink()
        path.write_bytes(content)
        if self.old_times:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return f"byte {place}"


def plan(seed: int, count: int) -> Iterator[Damage]:
    """Yield damages: kinds of files, of damage and of times in turn, at random positions."""
    draw = random.Random(seed)
    paths = list(READ_BY)
    for number in range(count):
        turn, kind = divmod(number, len(paths))
        yield Damage(
            number=number,
            how=_HOW[turn % len(_HOW)],
            path=paths[kind],
            old_times=(number + turn) % 2 == 0,
            at=draw.random(),
            # Each kind of file goes through a whole run once, in the first rounds.
            in_run=turn == kind % 3,
        )


def damage(finished: Project, scratch: Path, cases: Iterator[Damage], journal: Journal) -> Iterator[None]:
    """Damage a file of a finished run, let a job read it, and check the outcome; pause after each case."""
    undisturbed = finished.files()
    for case in cases:
        if case.name in journal:
            continue
        project = finished.copy(scratch)
        target = READ_BY[case.path]
        where = case.do(project.results / case.path)
        (project.results / target).unlink()
        ended = project.run(target) if case.in_run else project.repeat(target)
        journal.add(Case(case.how, case.name, *_outcome(project, undisturbed, case, where, ended)))
        yield


def _outcome(
    project: Project, undisturbed: Mapping[str, bytes], case: Damage, where: str, ended: Ended
) -> tuple[str, bool]:
    files, target, code = project.files(), READ_BY[case.path], ended.code
    file_right = files.get(case.path) == undisturbed[case.path]
    # Pages show the time at which they were made, so their bytes may differ.
    target_right = target not in undisturbed or files.get(target) == undisturbed[target]
    if code == 0 and target_right and file_right:
        found = "found, removed and made again" if ended.lines("made again") else "made again"
        return f"{where}: {found}", True
    if code == 0 and target_right:
        known = any(case.path in problem for problem in verify(project.results)[1])
        told = "parkf verify names it" if known else "and parkf verify does NOT name it"
        return f"{where}: not read by {target}, which is the undisturbed one; {told}", known
    name = re.escape(Path(case.path).name)
    # A run must make its damaged intermediate again; a job alone must report the damage.
    if code != 0 and not case.in_run and ended.clear and ended.lines(rf"^error: .*{name}"):
        return f"{where}: {ended.lines('^error: ')}", True
    right = "right" if target_right else "WRONG"
    return f"{where}: code {code}, {target} {right}: {ended.lines('rror')}", False
