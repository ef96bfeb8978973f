"""Products of a run held against its ledger: whether each is what its stage made, of what is there now.

A product is right if it has the bytes that its stage made, and if the stage read what is there now. Hence a
file of another run, of another sample or of an earlier time is recognised.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.fingerprints.meaning import meaning_of
from parkf.io.ledger import FILE, RESULTS, Entry, Ledger, content_of, here, run_of, stamp_of
from parkf.workflow.damage import ASIDE, damage_of

PROOF = ("set/manifest.json", "validation.json", "accuracy.json")
ENDS = ("report/index.html", "index.html", *PROOF)
"""Last products of a run or a family; everything that they were made of must be there and be right."""
# Endings of files that only stages make, and what has such an ending and is no product.
_MADE = (".parquet", ".npz", ".json", ".f32")
_NO_PRODUCTS = (ASIDE, "logs")
# Problems that leave a run's own files right.
_NO_FAULT = ("changed", "unrecorded")
_UNKNOWN = "the ledger of this run does not say what it was made of"
FEW = 10
"""Largest number of files that lack the same and are still named one by one."""


@dataclass(frozen=True)
class Problem:
    """A product that is not what its run makes of today's inputs.

    Its `kind` is foreign or missing; stale, if its stage would read other products now; changed, if it would
    read other documents; or unrecorded, if no ledger has it.
    """

    path: Path
    what: str
    kind: str
    is_known: bool = False  # whether a foreign file is another product, or damaged: nothing is lost with it

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class Products:
    """All products of a run, and of the runs that it has read from.

    `run` is ``results/<run>``, relative to the working folder. With `whole`, the content of every file is
    read; else only that of files whose times or sizes are not those of the ledger.
    """

    def __init__(self, run: Path, *, whole: bool = False) -> None:
        self.run = run
        self._whole = whole
        self.entries: dict[str, Entry] = {}
        self.seen: dict[Path, dict[str, list[int]]] = {}
        """Stamps of products that are right though their times are new, by run."""
        self.stamps: dict[str, list[int]] = {}
        """Stamps of the ledgers, by product."""
        waiting, runs = [run], {run}
        while waiting:
            ledger = Ledger(waiting.pop())
            latest = ledger.latest()
            self.entries |= latest
            self.stamps |= {path: list(stamp) for path, stamp in ledger.stamps().items()}
            read = {run_of(here(path)) for entry in latest.values() for path in entry.inputs}
            waiting += [one for one in read if one is not None and one not in runs]
            runs |= {*waiting}

    def problems(self, ends: Collection[str] = ()) -> list[Problem]:
        """Find all products that are not right, of those that `ends` depend on; by default, the last ones."""
        ends = ends or [str(self.run / end) for end in ENDS]
        needed = self._needed(ends)
        found: dict[Path, Problem] = {}
        for name in needed:
            for problem in self._of(name):
                found.setdefault(problem.path, problem)
        for path in map(Path, ends):
            if str(path) not in self.entries and path.exists():
                # A line that is missing among others is written again with its product.
                found[path] = Problem(path, _UNKNOWN, "stale" if self.entries else "unrecorded")
        return sorted(found.values(), key=lambda one: one.path)

    def strangers(self) -> list[Problem]:
        """Find the files in the folder of a run that its ledger does not have."""
        files = (path for kind in _MADE for path in sorted(self.run.rglob(f"[!.]*{kind}")) if self.entries)
        folders = [path for path in map(Path, self.entries) if path.is_dir()]
        return [
            self._foreign(path, "no stage of this run has made it")
            for path in files
            if str(path) not in self.entries
            and path.exists()
            and path.relative_to(self.run).parts[0] not in _NO_PRODUCTS
            and not any(path.is_relative_to(folder) for folder in folders)
        ]

    def rivals(self) -> list[Problem]:
        """Find the products of this run of which another run has made other bytes, of the same."""
        found: list[Problem] = []
        for file in sorted(RESULTS.glob(f"*/{FILE}")):
            theirs = {one.key: one for one in Ledger(file.parent).latest().values() if one.key}
            for path, entry in self.entries.items():
                other = theirs.get(entry.key)
                if other and [*other.outputs.values()] != [*entry.outputs.values()]:
                    what = f"{min(other.outputs)} was made of the same, and has other bytes; one is wrong"
                    found.append(Problem(Path(path), what, "rival"))
        return [one for one in found if run_of(one.path) == self.run]

    def after(self, paths: Iterable[str]) -> set[str]:
        """Return the products of this run that were made of these, directly or not."""
        found, new = set[str](), {*paths}
        while new:
            found |= new
            new = {
                path
                for path, entry in self.entries.items()
                if path not in found and run_of(Path(path)) == self.run and not new.isdisjoint(entry.inputs)
            }
        return found

    def _needed(self, ends: Iterable[str]) -> dict[str, None]:
        needed: dict[str, None] = {}
        waiting = [end for end in ends if end in self.entries]
        while waiting:
            path = waiting.pop()
            if path not in needed:
                needed[path] = None
                if (entry := self.entries.get(str(here(path)))) is not None:
                    inputs = [here(one) for one in entry.inputs]
                    waiting += [str(one) for one in inputs if str(one) in self.entries]
                    waiting += entry.outputs
                    if any(run_of(one) == self.run and str(one) not in self.entries for one in inputs):
                        # Nobody knows what this input was made of.
                        waiting += [one for one in self.entries if run_of(Path(one)) == self.run]
        return needed

    def _of(self, name: str) -> Iterator[Problem]:
        path, entry = Path(name), self.entries[name]
        digest = entry.outputs[name]
        if not path.exists():
            yield Problem(path, f"missing; it is a product of stage {entry.stage}", "missing")
        elif not self._has(path, digest):
            was_read = {one.inputs[name] for one in self.entries.values() if name in one.inputs}
            if digest not in was_read and content_of(path) in was_read:
                # The file is that which other stages have read; its line is of another one.
                yield Problem(path, "its line in the ledger is not its own", "stale")
            else:
                yield self._foreign(path, "not what this run has made")
        for read, was in entry.inputs.items():
            source = here(read)
            maker = self.entries.get(str(source))
            if maker is not None:
                if maker.outputs[str(source)] != was:
                    yield Problem(path, f"made from another {read}", "stale")
            elif run_of(source) is None:
                if not source.is_file() or meaning_of(source) != was:
                    yield Problem(path, f"made from another {read}", "changed")
            elif run_of(source) == self.run:
                yield Problem(source, _UNKNOWN, "stale")
            elif not source.exists() or content_of(source) != was:
                yield Problem(path, f"made from another {read}", "stale")

    def _has(self, path: Path, digest: str) -> bool:
        name, stamp = str(path), stamp_of(path)
        if not self._whole and self.stamps.get(name) == stamp:
            return True
        if content_of(path) != digest:
            return False
        if (run := run_of(path)) is not None and self.stamps.get(name) != stamp:
            self.seen.setdefault(run, {})[name] = stamp
        return True

    def _foreign(self, path: Path, what: str) -> Problem:
        """Describe a file that is in the place of a product: which product it is, of which run."""
        names = [name for name in self._known.get(content_of(path), ()) if name != str(path)]
        names.sort(key=lambda name: run_of(Path(name)) != run_of(path))
        # Only files that no run has made are read, because a set is read with all its files.
        damage = [] if names else damage_of(path)
        found = [*(f"it is {name}" for name in names), *damage] or [f"no run here has made {_kind(path)}"]
        text = found[0].removeprefix(f"{path}: ")
        is_known = bool(names or damage) and not path.is_dir()
        return Problem(path, f"{what}: {text}", "foreign", is_known)

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        """What each content is that a run here has made, by its SHA-256."""
        known: dict[str, list[str]] = {}
        for file in sorted(RESULTS.glob(f"*/{FILE}")):
            ledger = Ledger(file.parent)
            latest = ledger.latest()
            for entry in ledger.entries():
                for path, made in entry.outputs.items():
                    is_newest = latest[path].outputs[path] == made
                    name = path if is_newest else f"an earlier {path}"
                    known[made] = [name, *known.get(made, ())] if is_newest else [*known.get(made, ()), name]
        return known


def check_runs(folder: Path) -> list[str]:
    """Check the products of a run, or of all runs if `folder` is ``results``; return a line for each problem.

    The content of every file is read. Other folders have no ledger.
    """
    run = folder.resolve()
    if run.name == RESULTS.name:
        return [line for one in sorted(run.iterdir()) if one.is_dir() for line in check_runs(one)]
    if run.parent.name != RESULTS.name:
        return []
    with chdir(run.parents[1]):
        products = Products(RESULTS / run.name, whole=True)
        return lines([*products.problems(), *products.strangers(), *products.rivals()])


def require_own(run: Path) -> list[str]:
    """Raise a ParkfError if the set or the figures of a run depend on files that are not its own products.

    Returns a line for what else is to be known: documents that have changed, products without an entry. Only
    files whose times or sizes have changed are read.
    """
    folder = run.resolve()
    if folder.parent.name != RESULTS.name:
        return []
    with chdir(folder.parents[1]):
        products = Products(RESULTS / folder.name)
        problems = products.problems([str(products.run / name) for name in PROOF])
    said = lines(problems)
    if any(one.kind not in _NO_FAULT for one in problems):
        raise ParkfError("\n".join([*said, f"{run}: `parkf run {folder.name}` makes these files again"]))
    return said


def lines(problems: Iterable[Problem]) -> list[str]:
    """Return a line for each problem; more than :data:`FEW` files that lack the same have one line."""
    groups: dict[str, list[Problem]] = {}
    for one in problems:
        groups.setdefault(one.what, []).append(one)
    said = []
    for what, found in groups.items():
        if len(found) > FEW and found[0].kind not in ("foreign", "missing"):
            said.append(f"{found[0].path} and {len(found) - 1} more: {what}")
        else:
            said += map(str, found)
    return said


def _kind(path: Path) -> str:
    if path.suffix != ".parquet":
        return "this file"
    # The leader of a run loads Arrow only where a table of another run lies in the way.
    from parkf.io.checksums import CheckedFile

    with CheckedFile(path) as file:
        name = (file.schema_arrow.metadata or {}).get(b"parkf.table", b"without a name")
    return f"this table '{name.decode(errors='replace')}'"
