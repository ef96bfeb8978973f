"""Deliberate mistakes in the code, and whether a test notices.

Run: python -m tools.mutants --json FILE [--count 420] [--areas fit kernel …] [--again [FILE …]]

Each mutant changes one operator or number. Mutants are drawn at random, the same number in each area. Then
the tests that reach the changed line run, the quickest first, until one fails. A tracer finds once which
tests reach a line, and its result is kept in build/. A Python module is changed in the memory of a forked
process. For the kernel, a copy of the headers is changed and compiled. The resulting extension module
replaces the installed one in a forked process. In each area the unchanged code is tried as well; all tests
must pass with it.

The file keeps each mutant, so that a benchmark that was stopped continues. Mutants that are no longer drawn,
because code has changed, are dropped. `--again` judges survivors again, with the slow tests, too: all of
them, or those in the named files. `survivors[]` have a `reason`, which is written by hand and kept. A reason
that begins with "equivalent" means that the changed code is equivalent.
"""

import argparse
import hashlib
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

# Libraries run with one thread, because forked processes must not share threads.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}

from tools.mutants.headers import NoMutantError, header_mutants
from tools.mutants.judges import KernelJudge, ModuleJudge
from tools.mutants.modules import SOURCE, mutants_of
from tools.mutants.mutant import ROOT, Mutant

AREAS = (
    *("model/steps", "model/codegen", "training", "params", "fit", "proof/validation", "kernel"),
    *("api", "io/fingerprints", "workflow"),
)
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
        "jsonschema",
        "matplotlib.pyplot",
        "rich.console",
        "packaging.version",
    ),
    *("psutil", "awkward", "uproot", "threadpoolctl"),
)


def import_others() -> None:
    for name in OTHERS:
        importlib.import_module(name)


def drawn(area: str, seed: int) -> list[Mutant]:
    """Return all mutants of an area in random order; the order stays if code elsewhere changes."""

    def place(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed}|{mutant.key}".encode()).digest()

    if area == "kernel":
        return sorted(header_mutants(), key=place)
    files = sorted((SOURCE / "parkf" / area).rglob("*.py"))
    return sorted((mutant for path in files for mutant in mutants_of(path)), key=place)


class Outcome:
    """The file: what was tried, and the reasons written into it by hand."""

    def __init__(self, path: Path, seed: int) -> None:
        before = json.loads(path.read_text()) if path.exists() else {}
        self._path, self._seed = path, seed
        self.tried: dict[str, dict[str, Any]] = {one["key"]: one for one in before.get("tried", [])}
        self.nothing: dict[str, str] = before.get("no_mutants", {})
        self._reasons = {one["key"]: one["reason"] for one in before.get("survivors", [])}

    def keep(self, area: str, drawn_now: set[str]) -> None:
        """Drop mutants that were drawn from an older version of the area's code."""
        self.tried = {key: one for key, one in self.tried.items() if one["area"] != area or key in drawn_now}
        self.write()

    def write(self) -> None:
        """Write the file."""
        survivors = [one for one in self.tried.values() if not one["killed_by"]]
        areas = {
            area: {
                "mutants": sum(one["area"] == area for one in self.tried.values()),
                "killed": sum(one["area"] == area and bool(one["killed_by"]) for one in self.tried.values()),
            }
            for area in dict.fromkeys(one["area"] for one in self.tried.values())
        }
        whole = {
            "seed": self._seed,
            "mutants": len(self.tried),
            "killed": len(self.tried) - len(survivors),
            "equivalent": sum(self._reason(one).startswith("equivalent") for one in survivors),
            "areas": areas,
            "survivors": [
                {key: one[key] for key in ("key", "area", "file", "line", "before", "after")}
                | {"reason": self._reason(one)}
                for one in survivors
            ],
            "tried": list(self.tried.values()),
            "no_mutants": self.nothing,
        }
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        temporary.replace(self._path)

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
    parser.add_argument("--count", type=int, default=420, help="mutants in all areas together")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument(
        "--again",
        nargs="*",
        metavar="FILE",
        help="judge survivors anew, with slow tests, too: all, or those in these files",
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants", help="keeps what tests reach")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    import_others()
    outcome = Outcome(options.json, options.seed)
    share = -(-options.count // len(AREAS))

    def wanted(mutant: Mutant) -> bool:
        known = outcome.tried.get(mutant.key)
        if options.again is None or known is None:
            return options.again is None and known is None
        return not known["killed_by"] and (not options.again or mutant.file in options.again)

    def chosen(area: str) -> Iterator[Mutant]:
        """Yield the mutants to judge until the area has enough."""
        there: set[str] = set()
        for mutant in drawn(area, options.seed):
            if len(there) == share:
                break
            if mutant.key in outcome.nothing:
                continue
            if wanted(mutant):
                yield mutant
            # Only now is it known which mutants the compiler refuses.
            if mutant.key not in outcome.nothing:
                there.add(mutant.key)
        outcome.keep(area, there)

    def verdict(area: str, mutant: Mutant, by: str) -> None:
        outcome.tried[mutant.key] = {"key": mutant.key, "area": area, **asdict(mutant), "killed_by": by}
        outcome.write()
        change = f"{mutant.file}:{mutant.line} {mutant.before} → {mutant.after}"
        print(f"{time.strftime('%H:%M:%S')} {'killed  ' if by else 'SURVIVED'} {change} {by}", flush=True)

    modules = ModuleJudge(options.folder, patient=options.again is not None)
    late = options.folder / "late.json"
    for area in options.areas:
        if area == "kernel":
            kernel = KernelJudge(options.folder)
            for mutant in chosen(area):
                try:
                    verdict(area, mutant, kernel.killer(mutant))
                except NoMutantError as reason:
                    outcome.nothing[mutant.key] = str(reason)
        elif todo := list(chosen(area)):
            in_session(lambda area=area, todo=todo: modules.judge(area, todo, verdict, late))
            outcome = Outcome(options.json, options.seed)
            for place, tests in json.loads(late.read_text()).items():
                mutant = todo[int(place)]
                verdict(area, mutant, modules.killer(area, mutant, tests))
    killed = sum(bool(one["killed_by"]) for one in outcome.tried.values())
    print(f"{killed} of {len(outcome.tried)} killed; {options.json}")


if __name__ == "__main__":
    main()
