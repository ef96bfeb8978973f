"""Puts wrong files into finished runs: each must be named, and the right bytes must be there afterwards.

Run: python -m tools.faults.swaps --json FILE [--folder FOLDER] [--cases 200]

Two runs with different seeds are made, and one of them a second time after a change of its configuration.
Then files of this run are exchanged in rounds. Files of all kinds of products are in each round, and each
kind of exchange is tried in turn:

foreign      the file of the other run, of the same name
recorded     the same, together with the other run's record of the job
unrecorded   the same, and the record of the job is missing
exchanged    another product of the run: another sample, another step
stale        the run's own file from before the change of the configuration
missing      no file
edited       the file with other numbers and a checksum that is right

Every second file keeps its times. `parkf verify` must name each file. `parkf compare` must refuse the run,
and name each file that the set or the figures depend on. A run must name each file, too, and end with the
bytes of the undisturbed run. The file of results records every case. A benchmark that was stopped goes on
after its last round.
"""

import argparse
import json
import os
import random
import re
import shutil
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import yaml
from parkf.workflow.running.chain import PROOF, Chain, check_runs
from parkf.workflow.running.damage import ASIDE
from parkf.workflow.running.jobs import Job
from parkf.workflow.running.records import record_of
from tools.faults.forked import commanded, led, load
from tools.faults.project import ROOT, Ended, Project, configuration

from parkf.io.checksums import seal
from parkf.io.files import read_json, write_json, write_sealed
from parkf.io.fingerprints.code_key import code_key
from parkf.params.manifest import read_manifest, write_manifest

RUN, OTHER = "subject", "other"
KINDS = ("foreign", "recorded", "unrecorded", "exchanged", "stale", "missing", "edited")
_OF_RECORDS = ("recorded", "unrecorded")
_PER_ROUND = 34
_HERE, _THERE = Path("results", RUN), Path("results", OTHER)
# Their bytes depend on the machine or the time.
_OF_THE_MOMENT = ("report", "run.json", "beside.json", "stages.json", "throughput.json", "inputs")


@dataclass(frozen=True)
class Case:
    """A wrong file, and the outcome."""

    kind: str
    path: str  # in the run's folder
    keeps_times: bool
    verify: str  # the line of `parkf verify` that names it, or nothing
    compare: str | None  # the same of `parkf compare`; None if neither set nor figures depend on the file
    run: str  # the line of the run that names it, or nothing
    is_right: bool  # whether the file has the undisturbed bytes after the run

    @property
    def passed(self) -> bool:
        """Whether the file was named by all, and is right afterwards."""
        return bool(self.verify and self.run) and self.compare != "" and self.is_right


class Runs(Project):
    """A folder with two runs; the results that a project compares are those of the first one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.results = folder / _HERE

    def lead(self, run: str, **changes: Any) -> Ended:
        """Run to the end with changes of sections of the configuration."""
        config: dict[str, Any] = configuration() | {"run": run}
        for name, value in changes.items():
            config[name] = config[name] | value if isinstance(value, dict) else value
        (self.folder / f"{run}.yaml").write_text(yaml.safe_dump(config))
        words = [
            *("--snakefile", str(ROOT / "Snakefile"), "--configfile", f"{run}.yaml", "--cores", "1"),
            *("--workflow-profile", str(ROOT / "workflow/profiles/local"), "--nolock", "--rerun-incomplete"),
        ]
        return self.end(led(self.folder, f"results/{run}", words, "said"))

    def compared(self) -> Ended:
        """Compare the run with the other one."""
        return self.end(commanded(self.folder, ["compare", str(_HERE), str(_THERE)], "said"))

    def with_store(self, folder: Path) -> "Runs":
        """Copy the folder, with hard links for results and for the store of shared products."""
        shutil.rmtree(folder, ignore_errors=True)
        kept = str(self.folder / "results")

        def copied(source: str, target: str) -> object:
            is_result = source.startswith(kept) and not source.endswith((".log", ".lock", ".txt"))
            return os.link(source, target) if is_result else shutil.copy2(source, target)

        shutil.copytree(self.folder, folder, symlinks=True, copy_function=copied)
        return Runs(folder)


def prepare(folder: Path) -> tuple[Runs, Path]:
    """Make both runs; return their folder, and a folder with the run's products before the change."""
    runs, before = Runs.new(folder / "undisturbed"), folder / "before"
    done = folder / "done"
    if not done.exists():
        steps: tuple[tuple[str, dict[str, Any]], ...] = (
            (OTHER, {"seed": 7}),
            (RUN, {"training": {"rays": 11000}, "misalignment": {"scifi_module": 0.2, "scifi_mat": 0.05}}),
        )
        for run, changes in steps:
            if (ended := runs.lead(run, **changes)).code:
                raise SystemExit(f"{run}: the undisturbed run failed:\n{ended.said[-3000:]}")
        shutil.copytree(runs.results, before, dirs_exist_ok=True)
        if (ended := runs.lead(RUN)).code:
            raise SystemExit(f"the undisturbed run failed:\n{ended.said[-3000:]}")
        done.touch()
    return Runs(runs.folder), before


def products(runs: Runs) -> dict[str, Job]:
    """Return all products of the run whose bytes are reproducible, by their path in its folder."""
    found = {}
    for file in sorted((runs.results / "logs").rglob("*.log.json")):
        job = Job.of(read_json(file), file)
        for path in job.outputs:
            name = str(Path(path).relative_to(job.run))
            if name.split("/")[0] not in _OF_THE_MOMENT and (runs.folder / path).is_file():
                found[name] = job
    return found


def read_for_proof(jobs: dict[str, Job]) -> set[str]:
    """Return the products that the set and the figures depend on."""
    found: set[str] = set()
    waiting = list(PROOF)
    while waiting:
        name = waiting.pop()
        if name in jobs and name not in found:
            found.add(name)
            here = Path(jobs[name].run)
            paths = map(Path, (*jobs[name].inputs, *jobs[name].outputs))
            waiting += [str(path.relative_to(here)) for path in paths if path.is_relative_to(here)]
    return found


def edited(path: Path) -> None:
    """Change numbers of a file, and write it as its own writer would."""
    if path.name == "manifest.json":
        manifest = read_manifest(path)
        seeds = {name: seed + 1 for name, seed in manifest.seeds.items()}
        path.unlink()
        write_manifest(path, manifest.model_copy(update={"seeds": seeds}))
    elif path.suffix == ".json":
        content = read_json(path)
        path.unlink()
        write_sealed(path, {**content, "edited": 1.01})
    elif path.suffix == ".npz":
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive}
        path.unlink()
        changed = {"f": lambda v: v * 1.01, "i": lambda v: v + 1, "u": lambda v: v + 1}
        np.savez(path, **{k: changed.get(v.dtype.kind, np.copy)(v) for k, v in arrays.items()})
    elif path.suffix == ".parquet":
        table = pq.read_table(path)
        path.unlink()
        pq.write_table(table.slice(1), path, write_page_checksum=True)
        seal(path)
    else:
        numbers = np.fromfile(path, "<f4") * np.float32(1.01)
        path.unlink()
        numbers.astype("<f4").tofile(path)


def sources(kind: str, name: str, names: list[str], runs: Runs, before: Path) -> Iterator[Path]:
    """Yield the files that are put in the place of a product by this kind of exchange."""
    if kind in ("foreign", *_OF_RECORDS):
        yield runs.folder / _THERE / name
    elif kind == "stale":
        yield before / name
    elif kind == "exchanged":
        path = Path(name)
        for other in names:
            one = Path(other)
            alike = one.suffix == path.suffix and (one.parent == path.parent or one.name == path.name)
            if one != path and alike:
                yield runs.results / other


def disturb(kind: str, name: str, source: Path | None, scratch: Runs, job: Job, keeps_times: bool) -> None:
    """Apply a case to a copy of the runs."""
    path = scratch.results / name
    times = path.stat()
    if kind == "edited":
        edited(path)
    else:
        # The files of a copy are links, so they are replaced, not changed.
        path.unlink()
    if source is not None:
        shutil.copyfile(source, path)
    if kind in _OF_RECORDS:
        log = next(file for file in (scratch.results / "logs").rglob("*.log.json") if _is_of(file, job))
    if kind == "unrecorded":
        record_of(log).unlink()
    elif kind == "recorded":
        theirs = scratch.folder / _THERE / log.relative_to(scratch.results)
        for target, other in ((log, theirs), (record_of(log), record_of(theirs))):
            target.unlink()
            shutil.copyfile(other, target)
    if keeps_times and path.exists():
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _is_of(file: Path, job: Job) -> bool:
    return Job.of(read_json(file), file) == job


def plan(seed: int, count: int, runs: Runs, before: Path) -> Iterator[list[tuple[str, str, Path | None]]]:
    """Yield rounds of cases: kind, product, and the file that is put in its place."""
    draw = random.Random(seed)
    jobs = products(runs)
    names, turn, planned = sorted(jobs), 0, 0
    while planned < count:
        here: list[tuple[str, str, Path | None]] = []
        recorded: list[Job] = []
        for name in draw.sample(names, len(names)):
            for step in range(len(KINDS)):
                kind = KINDS[(turn + step) % len(KINDS)]
                good = (runs.results / name).read_bytes()
                found = (
                    path
                    for path in sources(kind, name, names, runs, before)
                    if path.is_file() and path.read_bytes() != good
                )
                source = next(found, None)
                if source is None and kind not in ("missing", "edited"):
                    continue
                # A record belongs to all products of its job.
                if jobs[name] in recorded or (kind in _OF_RECORDS and len(jobs[name].outputs) > 1):
                    continue
                recorded += [jobs[name]] if kind in _OF_RECORDS else []
                here.append((kind, name, source))
                turn += step + 1
                break
            if len(here) == _PER_ROUND or planned + len(here) == count:
                break
        planned += len(here)
        yield here


def table(outcome: dict[str, Any]) -> str:
    """Write how many cases of each kind were tried, named and right afterwards, in Markdown."""
    lines = [
        "| what is there | files | named by `verify` | by `compare` | by the run | right afterwards |",
        "|---|---|---|---|---|---|",
    ]
    for kind, words in {**_WORDS, "": "together"}.items():
        cases = [case for case in outcome["cases"] if kind in ("", case["kind"])]
        verify, run, right = (sum(bool(case[key]) for case in cases) for key in ("verify", "run", "is_right"))
        read = [case["compare"] for case in cases if case["compare"] is not None]
        compare = f"{sum(map(bool, read))} of {len(read)}"
        lines.append(f"| {words} | {len(cases)} | {verify} | {compare} | {run} | {right} |")
    return "\n".join(lines)


_WORDS = {
    "foreign": "the file of another run",
    "recorded": "the file of another run, with that run's record",
    "unrecorded": "the file of another run, and no record",
    "exchanged": "another product of the run: another sample, another step",
    "stale": "the run's own file from before a change of its configuration",
    "missing": "no file",
    "edited": "other numbers, and a checksum that is right",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True, help="takes the outcome")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/swaps", help="for the runs")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--cases", type=int, default=200)
    options = parser.parse_args()
    folder = options.folder.resolve()
    load()
    runs, before = prepare(folder)
    undisturbed, jobs = runs.files(), products(runs)
    read = read_for_proof(jobs)
    with chdir(runs.folder):
        assert Chain(_HERE)
        assert check_runs(_HERE) == []
    about = {"seed": options.seed, "planned": options.cases, "code": code_key("parkf.cli.main")}
    tried = json.loads(options.json.read_text()) if options.json.exists() else {}
    same = all(tried.get(key) == value for key, value in about.items())
    cases = [Case(**case) for case in tried["cases"]] if same else []
    planned = 0
    for number, here in enumerate(plan(options.seed, options.cases, runs, before)):
        planned += len(here)
        if planned <= len(cases):
            continue
        scratch = runs.with_store(folder / "scratch")
        for index, (kind, name, source) in enumerate(here):
            disturb(kind, name, source, scratch, jobs[name], keeps_times=index % 2 == 0)
        with chdir(scratch.folder):
            found = check_runs(_HERE)
        refused = scratch.compared()
        ended = scratch.lead(RUN)
        files = scratch.files()
        for index, (kind, name, _) in enumerate(here):
            path = f"{_HERE}/{name}"
            verify = next((line for line in found if line.startswith(path)), "")
            compare = refused.lines(f"^(error: )?{re.escape(path)}") if refused.code == 1 else ""
            is_right = ended.code == 0 and files.get(name) == undisturbed[name]
            said = (verify, compare if name in read else None, ended.lines(f"^{path}"))
            cases.append(Case(kind, name, index % 2 == 0, *said, is_right))
            if not cases[-1].passed:
                print("FAILED", cases[-1], flush=True)
        others = {name for name in {*files, *undisturbed} if not name.startswith(ASIDE)}
        wrong = sorted(name for name in others if files.get(name) != undisturbed.get(name))
        print(f"round {number}: {len(here)} files, code {ended.code}, other files wrong: {wrong}", flush=True)
        outcome = {
            **about,
            **{"tried": len(cases), "passed": sum(case.passed for case in cases)},
            "cases": [asdict(case) for case in cases],
        }
        write_json(options.json, outcome)
    print(table(json.loads(options.json.read_text())))


if __name__ == "__main__":
    main()
