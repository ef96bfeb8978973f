"""The chain of a run: from its set and its figures back to the geometry, through the records of all jobs.

A product is right if it has the bytes that its job made, and if the job read what is there now. The records
hold fingerprints, so that a file of another run, of another sample or of an earlier time is recognised.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.io.fingerprints.meaning import meaning_of
from parkf.report.job_graph import GRAPH_FILE
from parkf.workflow.running.damage import ASIDE, damage_of, from_here, snakemake_record
from parkf.workflow.running.jobs import RESULTS, Job
from parkf.workflow.running.records import ENDING, Record, content_of, stamp_of

PROOF = ("set/manifest.json", "validation.json", "accuracy.json")
ENDS = ("report/index.html", "index.html", *PROOF)
"""Last files of a run or a family; everything that they were made of must be there and be right."""
# Endings of files that only jobs make, and what has such an ending and is no product.
_MADE = (".parquet", ".npz", ".json", ".f32")
_NO_PRODUCTS = (ASIDE, "logs", GRAPH_FILE)
# Problems that leave a run's own files right.
_NO_FAULT = ("changed", "unrecorded")
FEW = 10
"""Largest number of files that lack the same and are still named one by one."""
_UNRECORDED = "no record of this run says what it was made of"


@dataclass(frozen=True)
class Link:
    """A job of a run, and the record of what it made; None without a record that can be read."""

    file: Path  # of the job
    job: Job
    record: Record | None


@dataclass(frozen=True)
class Problem:
    """A file that is not what its run makes of today's inputs.

    Its `kind` is foreign or missing; stale, if its job would read other products now; changed, if it would
    read other documents or was planned anew; or unrecorded.
    """

    path: Path
    what: str
    kind: str
    is_known: bool = False  # whether a foreign file is another product, which can be made again
    is_needed: bool = True  # whether the last files of the run depend on it

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class Chain:
    """All jobs of a run, and of the runs that it reads from.

    `run` is ``results/<run>``, relative to the working folder. With `whole`, the content of every file is
    read; else only that of files whose times or sizes are not those of the record.
    """

    def __init__(self, run: Path, *, whole: bool = False) -> None:
        self.run = run
        self._whole = whole
        self.stamps: dict[Path, dict[str, list[int]]] = {}
        """Stamps of products that are as recorded, though their times are not, by file of the job."""
        self._links: dict[str, Link] = {}
        # These are looked up for each input of each job.
        self._resolved, self._meaning = cache(_resolved), cache(_meaning)
        runs, waiting = {run}, [run]
        while waiting:
            for link in _links(waiting.pop()):
                self._links |= dict.fromkeys(link.job.outputs, link)
                found = {run_of(self._resolved(path)) for path in link.job.inputs}
                waiting += [one for one in found if one is not None and one not in runs]
                runs.update(waiting)

    def __bool__(self) -> bool:
        return any(link.record is not None for link in self._links.values())

    def __contains__(self, path: Path) -> bool:
        """Whether a job makes this file, or reads it."""
        return str(path) in self._links or any(str(path) in link.job.inputs for link in self._links.values())

    def read_by(self, command: str) -> set[Path]:
        """Return all inputs of the jobs of a command."""
        return {
            Path(path)
            for link in self._links.values()
            if link.job.command == command
            for path in link.job.inputs
        }

    def problems(self, targets: Collection[str] = ()) -> list[Problem]:
        """Find all files that are not right.

        Except for foreign files, only those count that the `targets` depend on: files, or names of commands;
        by default, the last files of the run.
        """
        ends = [str(self.run / end) for end in ENDS]
        if targets:
            makers = (one for one in self._links.values() if one.job.command.split()[-1] in targets)
            ends = [*targets, *(path for one in makers for path in one.job.outputs)]
        needed = self._needed(ends)
        found: dict[Path, Problem] = {}
        # Products in a storage are not looked at, nor copies of them that a user has put here.
        here = {id(link): link for link in self._links.values() if not link.job.storage}
        for link in here.values():
            for problem in (*self._of_outputs(link), *self._of_inputs(link)):
                is_needed = str(problem.path) in needed
                before = found.get(problem.path)
                # A file without a record may be known by those that have read it.
                is_first = before is None or (before.kind, problem.kind) == ("unrecorded", "foreign")
                if is_first and (is_needed or problem.kind == "foreign"):
                    found[problem.path] = replace(problem, is_needed=is_needed)
        for path in map(Path, () if targets else ends):
            if str(path) not in self._links and path.is_file():
                found[path] = Problem(path, _UNRECORDED, "unrecorded")
        return sorted(found.values(), key=lambda one: one.path)

    def strangers(self) -> list[Problem]:
        """Find the files in the folder of a run with records that no job makes or reads."""
        files = (path for kind in _MADE for path in sorted(self.run.rglob(f"[!.]*{kind}")) if self)
        return [
            self.foreign(path, "no job of this run has made it")
            for path in files
            if path not in self
            and path.relative_to(self.run).parts[0] not in _NO_PRODUCTS
            and snakemake_record(path) is None
        ]

    def foreign(self, path: Path, what: str) -> Problem:
        """Describe a file that is in the place of a product: which product it is, of which run."""
        names = [name for name in self._known.get(content_of(path), ()) if name != str(path)]
        names.sort(key=lambda name: run_of(Path(name)) != run_of(path))
        # Only files that no run has made are read, because a set is read with all its files.
        damage = [] if names else damage_of(path)
        found = [*(f"it is {name}" for name in names), *damage] or [f"no run here has made {_kind(path)}"]
        text = found[0].removeprefix(f"{path}: ")
        return Problem(path, f"{what}: {text}", "foreign", is_known=bool(names or damage))

    def _needed(self, ends: Iterable[str]) -> set[str]:
        """Find what the ends depend on.

        That is every product if a needed one is of an unknown job: nobody knows what that job has read.
        """
        needed: set[str] = set()
        waiting = [end for end in ends if end in self._links]
        while waiting:
            path = str(self._resolved(waiting.pop()))
            if path not in needed:
                needed.add(path)
                if (link := self._links.get(path)) is not None:
                    waiting += [*link.job.inputs, *link.job.outputs]
                elif run_of(Path(path)) is not None:
                    waiting += self._links
        return needed

    def _of_outputs(self, link: Link) -> Iterator[Problem]:
        for name in link.job.outputs:
            path, record = Path(name), link.record
            if not path.exists():
                if record is not None and name not in link.job.passing:
                    yield Problem(path, f"missing; it is a product of parkf {link.job.command}", "missing")
            elif record is None:
                yield Problem(path, _UNRECORDED, "unrecorded")
            elif name in record.outputs and not self._has(path, link.file, record):
                yield self.foreign(path, "not what this run has made")
            elif record.job != link.job:
                yield Problem(path, "made before its job was planned anew", "changed")

    def _has(self, path: Path, file: Path, record: Record) -> bool:
        name, stamp = str(path), stamp_of(path)
        if not self._whole and record.stamps.get(name) == stamp:
            return True
        if content_of(path) != record.outputs[name]:
            return False
        self.stamps.setdefault(file, {})[name] = stamp
        return True

    def _of_inputs(self, link: Link) -> Iterator[Problem]:
        for name, was in link.record.inputs.items() if link.record is not None else ():
            path = self._resolved(name)
            maker, run = self._links.get(str(path)), run_of(Path(name))
            if maker is not None:
                if maker.record is None and path.exists() and content_of(path) != was:
                    yield self.foreign(path, "not what this run has read")
                made = was if maker.record is None else maker.record.outputs.get(str(path), was)
                for one in link.job.outputs if made != was else ():
                    yield Problem(Path(one), f"made from another {name}", "stale")
            elif run is None or run != Path(link.job.run):
                now = self._meaning(path) if run is None else content_of(path) if path.exists() else None
                for one in link.job.outputs if now != was else ():
                    yield Problem(Path(one), f"made from another {name}", "changed")
            # A rule without a command of parkf makes links and copies, of which Snakemake has a record.
            elif path.exists() and snakemake_record(Path(name)) is None:
                yield self.foreign(Path(name), "no job of this run has made it")
            elif path.exists() and content_of(path) != was:
                yield self.foreign(Path(name), "not what this run has read")

    @cached_property
    def _known(self) -> Mapping[str, Sequence[str]]:
        """What each content is that a run in ``results/`` has made, by its SHA-256."""
        known: dict[str, list[str]] = {}
        for file in sorted(RESULTS.glob(f"*/logs/**/*{ENDING}")):
            if (record := Record.read(file.with_name(file.name.removesuffix(ENDING) + ".json"))) is not None:
                for path, made in record.outputs.items():
                    known.setdefault(made, []).append(path)
                for path, before in record.earlier.items():
                    for made in before:
                        known.setdefault(made, []).append(f"an earlier {path}")
        return known


def _resolved(name: str) -> Path:
    return from_here(Path(name))


def _meaning(path: Path) -> str | None:
    return meaning_of(path) if path.is_file() else None


def _links(run: Path) -> Iterator[Link]:
    """Read the jobs of a run, in the order in which they were planned."""
    files = {path.with_name(path.name.removesuffix(ENDING) + ".json") for path in run.rglob(f"*{ENDING}")}
    files |= {*(run / "logs").rglob("*.log.json")}
    for file in sorted(files, key=lambda path: path.stat().st_mtime_ns if path.exists() else 0):
        record = Record.read(file)
        try:
            job = Job.of(read_json(file), file)
        except ParkfError:
            if record is None:
                continue
            job = record.job
        if job.run == str(run):
            yield Link(file, job, record if record is not None and record.job.run == job.run else None)


def check_runs(folder: Path) -> list[str]:
    """Check the chain of a run, or of all runs if `folder` is ``results``; return a message for each problem.

    The content of every file is read. Other folders have no chain.
    """
    here = folder.resolve()
    if here.name == RESULTS.name:
        return [line for run in sorted(here.iterdir()) if run.is_dir() for line in check_runs(run)]
    if here.parent.name != RESULTS.name:
        return []
    with chdir(here.parents[1]):
        chain = Chain(RESULTS / here.name, whole=True)
        return lines([*chain.problems(), *chain.strangers()])


def require_chained(run: Path) -> list[str]:
    """Raise a ParkfError if the set or the figures of a run depend on files that are not its own products.

    Returns a message for what else is to be known: documents that have changed, jobs without a record. Only
    files whose times or sizes have changed are read.
    """
    here = run.resolve()
    if here.parent.name != RESULTS.name:
        return []
    with chdir(here.parents[1]):
        chain = Chain(RESULTS / here.name)
        problems = chain.problems([str(chain.run / name) for name in PROOF])
    said = lines(problems)
    if any(one.kind not in _NO_FAULT for one in problems):
        raise ParkfError("\n".join([*said, f"{run}: `parkf run {here.name}` makes these files again"]))
    return said


def lines(problems: Iterable[Problem]) -> list[str]:
    """Return a message for each problem; more than :data:`FEW` files that lack the same have one message."""
    groups: dict[str, list[Problem]] = {}
    for one in problems:
        groups.setdefault(one.what, []).append(one)
    messages = []
    for what, found in groups.items():
        if len(found) > FEW and found[0].kind not in ("foreign", "missing"):
            messages.append(f"{found[0].path} and {len(found) - 1} more: {what}")
        else:
            messages += map(str, found)
    return messages


def run_of(path: Path) -> Path | None:
    """Return ``results/<run>`` of a file in it, or None."""
    inside = path.is_relative_to(RESULTS) and len(path.parts) > len(RESULTS.parts) + 1
    return Path(*path.parts[: len(RESULTS.parts) + 1]) if inside else None


def _kind(path: Path) -> str:
    if path.suffix != ".parquet":
        return "this file"
    # The leader of a run loads Arrow only where a table of another run lies in the way.
    from parkf.io.checksums import CheckedFile

    with CheckedFile(path) as file:
        name = (file.schema_arrow.metadata or {}).get(b"parkf.table", b"without a name")
    return f"this table '{name.decode(errors='replace')}'"
