"""Deliberate mistakes in the code, and whether a test notices.

Run: python -m benchmarks.mutants --json FILE [--count 420] [--areas steps kernel …] [--again] [--minutes 60]

One operator or number is changed at a time, drawn at random from all that there are, as many in each area;
then those tests run that reach the changed line, the quickest first, until one fails. Which reach it is found
out once, with a tracer, and kept in build/. A Python module is changed in the memory of a forked process. Of
the kernel, a copy of the headers is changed and compiled, and the extension module made of it takes the place
of the installed one in such a process. A change of nothing is tried in each area, and must survive.

The file keeps each mutant: the benchmark goes on where it was stopped. `--again` judges those anew that
survived. `survivors[]` have a `reason`, which is written by hand and kept; what begins with "equivalent" is.
"""

import argparse
import hashlib
import importlib
import json
import os
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

# Forked processes must not share the threads of a library.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}

from benchmarks.mutants.headers import NoMutantError, header_mutants
from benchmarks.mutants.judges import KernelJudge, ModuleJudge
from benchmarks.mutants.modules import SOURCE, mutants_of
from benchmarks.mutants.mutant import ROOT, Mutant

AREAS = ("steps", "codegen", "training", "parameters", "kalman", "validation", "kernel")
# What tests import beside the package, imported once and not by every child.
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


def drawn(areas: list[str], seed: int) -> dict[str, list[Mutant]]:
    """Give all mutants of areas in an order drawn at random, which stays when code elsewhere changes."""

    def place(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed}|{mutant.key}".encode()).digest()

    every = {}
    for area in areas:
        files = sorted((SOURCE / "parkf" / area).rglob("*.py"))
        modules = (mutant for path in files for mutant in mutants_of(path))
        every[area] = sorted(header_mutants() if area == "kernel" else modules, key=place)
    return every


class Outcome:
    """The file: what was tried, and the reasons written into it by hand."""

    def __init__(self, path: Path, seed: int) -> None:
        before = json.loads(path.read_text()) if path.exists() else {}
        self._path, self._seed = path, seed
        self.tried: dict[str, dict[str, Any]] = {one["key"]: one for one in before.get("tried", [])}
        self.nothing: dict[str, str] = before.get("no_mutants", {})
        self._reasons = {one["key"]: one["reason"] for one in before.get("survivors", [])}

    def write(self) -> None:
        """Write it."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome; what is in it is kept")
    parser.add_argument("--count", type=int, default=420, help="mutants in all areas together")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--again", action="store_true", help="judge survivors anew, and no others")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/mutants", help="keeps what tests reach")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    import_others()
    outcome = Outcome(options.json, options.seed)
    modules, kernel = ModuleJudge(options.folder), KernelJudge(options.folder)
    share = -(-options.count // len(AREAS))
    for area, mutants in drawn(options.areas, options.seed).items():
        judge = kernel if area == "kernel" else modules
        there = 0
        for mutant in mutants:
            known = outcome.tried.get(mutant.key)
            if there == share or time.monotonic() > until:
                break
            if mutant.key in outcome.nothing:
                continue
            if known is None if options.again else known is not None:
                there += known is not None
                continue
            there += 1
            if options.again and known is not None and known["killed_by"]:
                continue
            began = time.monotonic()
            change = f"{mutant.file}:{mutant.line} {mutant.before} → {mutant.after}"
            try:
                by = judge.killer(area, mutant)
            except NoMutantError as reason:
                there -= 1
                outcome.nothing[mutant.key] = str(reason)
                print(f"no mutant {change}: {reason}", flush=True)
                continue
            outcome.tried[mutant.key] = {"key": mutant.key, "area": area, **asdict(mutant), "killed_by": by}
            outcome.write()
            took = time.monotonic() - began
            print(f"{'killed  ' if by else 'SURVIVED'} {change} {by} ({took:.1f} s)", flush=True)
    killed = sum(bool(one["killed_by"]) for one in outcome.tried.values())
    print(f"{killed} of {len(outcome.tried)} killed; {options.json}")


if __name__ == "__main__":
    main()
