"""Ties the figures of benchmarks/results to the code that measured them, and measures again what is stale.

    python -m tools.studies            # which figures are of other code than this
    python -m tools.studies run        # measures those again; with names, these
    python -m tools.studies run --all  # measures all again

Each study is a module of benchmarks/. Its figures are stale when the study, or a module of parkf that it
imports, computes something else than when they were measured: the same key of code as for a run's products.
Pages say below each table when and with which commit it was measured, and whether it is stale.
"""

import argparse
import ast
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from parkf.io.fingerprints.code_key import code_key

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
RECORDS = RESULTS / "records.json"
# What a study's command names, where its own defaults are not meant. `results` has the runs.
STUDIES: dict[str, tuple[str, ...]] = {
    "bootstrap": (),
    "coverage": (),
    "displaced": ("results/paper_improved",),
    "doors": (),
    "electrons": ("results/paper_improved",),
    "far_hits": (),
    "fitter": (),
    "ghosts": (),
    "ghosts_by_momentum": (),
    "kinds": (
        "results/paper_improved",
        "--lhcb",
        "../shared/data/lhcb_formats/downstream/hits_detectors.root",
    ),
    "lhcb_hits": (),
    "momentum_scale": ("../shared/data",),
    "monitor": (),
    "production_field": ("../shared/data/lhcb_production_field", "results/paper", "results/paper_improved"),
    "pull_bound": (),
    "replace": (),
    "rich_states": ("results/default",),
    "robust": ("results/paper_improved",),
    "slices": ("results/paper_improved",),
    "tails": ("results/paper_improved",),
    "trigger_client": (),
    "trigger_golden": ("../shared/data/trigger_client/golden_r007.npz",),
    "trigger_noise": (),
}


@cache
def key_of(study: str) -> str:
    """Return the key of the code that a study computes with."""
    texts, modules = [], set[str]()
    for path in _files_of(study, set()):
        tree = ast.parse(path.read_text("utf-8"))
        texts.append(ast.dump(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("parkf"):
                modules |= {f"{node.module}.{one.name}" for one in node.names}
    return hashlib.sha256("\n".join([*texts, code_key(*sorted(modules))]).encode()).hexdigest()[:16]


def _files_of(study: str, seen: set[str]) -> Iterator[Path]:
    """Find a study's file and those of the studies that it imports."""
    seen.add(study)
    path = ROOT / f"benchmarks/{study}.py"
    yield path
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchmarks."):
            other = str(node.module).removeprefix("benchmarks.")
            if other not in seen:
                yield from _files_of(other, seen)


def records() -> dict[str, dict[str, Any]]:
    """Read what is known of the figures of each study."""
    return dict(json.loads(RECORDS.read_text("utf-8"))) if RECORDS.exists() else {}


def is_stale(study: str) -> bool:
    """Return whether a study's figures are of other code than this, or of unknown code."""
    return records().get(study, {}).get("code") != key_of(study)


def said_of(study: str) -> str:
    """Say when a study's figures were measured, and whether they are stale."""
    known = records().get(study)
    if known is None:
        return "Measured before studies were recorded."
    told = f"Measured on {known['date']} with commit {known['commit']}"
    return f"{told}; the code has changed since." if is_stale(study) else f"{told}."


def measure(study: str) -> bool:
    """Run a study, and record the code of its figures; return whether it succeeded."""
    begin, key, target = time.monotonic(), key_of(study), RESULTS / f"{study}.json"
    new = target.with_suffix(".new")
    command = [sys.executable, "-m", f"benchmarks.{study}", *STUDIES[study], "--json", str(new)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode or not new.exists():
        new.unlink(missing_ok=True)
        print(f"{study}: failed\n{done.stderr[-2000:]}", file=sys.stderr)
        return False
    new.replace(target)
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    record = {
        "code": key,
        "commit": head.stdout.strip(),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
    }
    record |= {"command": " ".join(["python", *command[1:-2]]), "seconds": round(time.monotonic() - begin)}
    text = json.dumps(dict(sorted((records() | {study: record}).items())), indent=1)
    new.write_text(text + "\n", "utf-8")
    new.replace(RECORDS)
    print(f"{study}: measured in {record['seconds']} s", flush=True)
    return True


def machine() -> str:
    """Name the processor, and how many of its cores there are."""
    names = Path("/proc/cpuinfo")
    lines = names.read_text("utf-8").splitlines() if names.exists() else []
    name = next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    return f"{name}, {os.cpu_count()} cores"


def main(words: Sequence[str] | None = None) -> int:
    """List the stale studies, or measure them; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("check", "run"), default="check")
    parser.add_argument("studies", nargs="*", choices=[*STUDIES, []], help="studies to measure")
    parser.add_argument("--all", action="store_true", help="measure also what is not stale")
    given = parser.parse_args(words)
    chosen = given.studies or [study for study in STUDIES if given.all or is_stale(study)]
    if given.what == "run":
        measured = [measure(study) for study in chosen]
        return int(not all(measured))
    for study in STUDIES:
        print(f"{study:20} {'stale' if is_stale(study) else 'current':8} {said_of(study)}")
    return int(bool(chosen))


if __name__ == "__main__":
    sys.exit(main())
