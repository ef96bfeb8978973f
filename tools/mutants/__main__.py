"""Deliberate mistakes in the code, and whether a test notices.

Run: python -m tools.mutants --json FILE [--count 44] [--rooms fit kernel …] [--again [FILE …]] [--slow]

Each mutant is one mistake. An operator or a number is changed, a sign is turned, a factor or a unit is wrong,
neighbours are exchanged, a bound is moved, or a selection is dropped. Mutants are drawn at random, the same
number in each room of the package and in the kernel, and all kinds of mistakes in turn. Then the tests that
reach the changed line run, those of the room first and the quickest first, until one fails. A tracer finds
once which tests reach a line, and its result is kept in build/. A Python module is changed in the memory of a
forked process. For the kernel, a copy of the headers is changed and compiled. The resulting extension module
replaces the installed one in a forked process. In each room the unchanged code is tried as well; all tests
must pass with it.

The file keeps each mutant, so that a benchmark that was stopped continues. Mutants that are no longer drawn,
because code has changed, are dropped. `--again` judges survivors again, with more of the tests: all of them,
or those in the named files. With `--slow`, slow tests run, too. With `--own`, only tests of the named rooms
run, which is quick; mutants that they do not notice survive until `--again` judges them with more tests. With
`--tests`, only the named ones run, and nothing is traced: for survivors that new tests were written for.
`survivors[]` have a `reason`, which is written by hand and kept. A reason that begins with "equivalent" means
that the changed code is equivalent.
"""

import argparse
import hashlib
import importlib
import json
import math
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

# Libraries run with one thread, because forked processes must not share threads.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}

from tools.mutants.changes import KINDS
from tools.mutants.headers import NoMutantError, header_mutants
from tools.mutants.judges import LONGER_S, TESTS_S, KernelJudge, ModuleJudge
from tools.mutants.modules import SOURCE, mutants_of
from tools.mutants.mutant import ROOT, Mutant

ROOMS = (*sorted(path.parent.name for path in (SOURCE / "parkf").glob("*/__init__.py")), "kernel")
# Other modules that tests import. They are imported once here, not in every child.
OTHERS = (
    *(
        "numpy",
        "scipy.stats",
        "scipy.optimize",
        "sympy",
        "pandas",
        "pyarrow.parquet",
        "pytest",
        "yaml",
        "pydantic",
    ),
    *(
        "typer.testing",
        "iminuit",
        "jinja2",
        "matplotlib.pyplot",
        "rich.console",
        "packaging.version",
    ),
    *("psutil", "awkward", "uproot", "threadpoolctl"),
)


def import_others() -> None:
    for name in OTHERS:
        importlib.import_module(name)


def drawn(room: str, seed: int) -> list[Mutant]:
    """Return all mutants of a room in random order, all kinds in turn."""

    def place(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed}|{mutant.key}".encode()).digest()

    if room == "kernel":
        found = header_mutants()
    else:
        found = [mutant for path in (SOURCE / "parkf" / room).rglob("*.py") for mutant in mutants_of(path)]
    turns: Counter[str] = Counter()
    placed = []
    for mutant in sorted(found, key=place):
        placed.append((turns[mutant.kind], place(mutant), mutant))
        turns[mutant.kind] += 1
    return [mutant for *_, mutant in sorted(placed, key=lambda one: one[:2])]


class Outcome:
    """The file: what was tried, and the reasons written into it by hand."""

    def __init__(self, path: Path, seed: int) -> None:
        before = json.loads(path.read_text()) if path.exists() else {}
        self._path, self._seed = path, seed
        self.tried: dict[str, dict[str, Any]] = {one["key"]: one for one in before.get("tried", [])}
        self.nothing: dict[str, str] = before.get("no_mutants", {})
        self._reasons = {one["key"]: one["reason"] for one in before.get("survivors", [])}

    def keep(self, room: str, drawn_now: set[str]) -> None:
        """Drop mutants that were drawn from an older version of the room's code."""
        self.tried = {key: one for key, one in self.tried.items() if one["area"] != room or key in drawn_now}
        self.write()

    def write(self) -> dict[str, Any]:
        """Write the file, and return the score of all rooms."""
        # A room that has been taken apart is none any more.
        tried = [one for one in self.tried.values() if one["area"] in ROOMS]
        survivors = [one for one in tried if not one["killed_by"]]
        areas = {room: self._score([one for one in tried if one["area"] == room]) for room in ROOMS}
        whole = {
            "seed": self._seed,
            **self._score(tried),
            "areas": areas,
            "kinds": {kind: self._score([one for one in tried if one["kind"] == kind]) for kind in KINDS},
            "survivors": [
                {key: one[key] for key in ("key", "area", "kind", "file", "line", "before", "after")}
                | {"reason": self._reason(one)}
                for one in survivors
            ],
            "tried": tried,
            "no_mutants": self.nothing,
        }
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        temporary.replace(self._path)
        return self._score(tried)

    def _score(self, tried: list[dict[str, Any]]) -> dict[str, Any]:
        """Return how many mutants were killed, and the share of those that are not equivalent."""
        survivors = [one for one in tried if not one["killed_by"]]
        killed = len(tried) - len(survivors)
        equivalent = sum(self._reason(one).startswith("equivalent") for one in survivors)
        share = round(killed / max(1, len(tried) - equivalent), 3)
        return {"mutants": len(tried), "killed": killed, "equivalent": equivalent, "score": share}

    def _reason(self, one: dict[str, Any]) -> str:
        return str(self._reasons.get(one["key"], ""))


def in_session(work: Callable[[], None]) -> None:
    """Do something in a forked process, which may import modules that this process must not import."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    try:
        if os.waitpid(child, 0)[1]:
            raise SystemExit("stopped")
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)
        raise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome; what is in it is kept")
    parser.add_argument("--count", type=int, default=44, help="mutants in each room")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS))
    parser.add_argument(
        "--again",
        nargs="*",
        metavar="FILE",
        help="judge survivors anew: all, or those in these files",
    )
    parser.add_argument("--slow", action="store_true", help="with slow tests, and as many as there are")
    parser.add_argument("--own", action="store_true", help="with the tests of the named rooms alone")
    parser.add_argument("--tests", nargs="+", default=[], help="tests, or files of tests, to judge by alone")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants", help="keeps what tests reach")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    import_others()
    outcome = Outcome(options.json, options.seed)

    def wanted(mutant: Mutant) -> bool:
        known = outcome.tried.get(mutant.key)
        if options.again is None or known is None:
            return options.again is None and known is None
        return not known["killed_by"] and (not options.again or mutant.file in options.again)

    def chosen(room: str) -> Iterator[Mutant]:
        """Yield the mutants to judge until the room has enough."""
        there: set[str] = set()
        for mutant in drawn(room, options.seed):
            if len(there) == options.count:
                break
            if mutant.key in outcome.nothing:
                continue
            if wanted(mutant):
                yield mutant
            # Only now is it known which mutants the compiler refuses.
            if mutant.key not in outcome.nothing:
                there.add(mutant.key)
        outcome.keep(room, there)

    def verdict(mutant: Mutant, by: str) -> None:
        outcome.tried[mutant.key] = {
            "key": mutant.key,
            "area": mutant.room,
            **asdict(mutant),
            "killed_by": by,
        }
        outcome.write()
        change = f"{mutant.file}:{mutant.line} {mutant.before} → {mutant.after}"
        print(f"{time.strftime('%H:%M:%S')} {'killed  ' if by else 'SURVIVED'} {change} {by}", flush=True)

    rooms = options.rooms if options.own else ()
    seconds = math.inf if options.slow else TESTS_S if options.again is None else LONGER_S
    modules = ModuleJudge(
        options.folder, slow=options.slow, seconds=seconds, rooms=rooms, names=options.tests
    )
    late = options.folder / "late.json"
    todo = [mutant for room in options.rooms if room != "kernel" for mutant in chosen(room)]
    in_session(lambda: modules.judge(todo, verdict, late))
    outcome = Outcome(options.json, options.seed)
    left = json.loads(late.read_text())
    for place, tests in left["tests"].items():
        verdict(todo[int(place)], modules.killer(todo[int(place)], tests))
    kernel = KernelJudge(options.folder, left["users"])
    for mutant in chosen("kernel") if "kernel" in options.rooms else ():
        try:
            verdict(mutant, kernel.killer(mutant))
        except NoMutantError as reason:
            outcome.nothing[mutant.key] = str(reason)
    score = outcome.write()
    print(f"{score['killed']} of {score['mutants']} killed, a score of {score['score']}; {options.json}")


if __name__ == "__main__":
    main()
