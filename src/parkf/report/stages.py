"""Wall time, processor time and peak memory of every stage of a run, from its ledger."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.ledger import Entry, Ledger


def collect_stages(run: Path) -> dict[str, Any]:
    """Add up time and memory of the jobs of each stage of a run, ``results/<run>``.

    The result is ``stages.<stage> = {wall_s, cpu_s, peak_mb, jobs, taken}``, and ``total_cpu_s`` and
    ``peak_mb`` of all stages. Seconds are summed over the jobs of a stage; ``peak_mb`` is the peak of its
    largest job, MiB. ``taken`` counts jobs whose products came from another run and which took almost no
    time; it is left out if there are none. A run without a ledger raises a ParkfError.
    """
    entries = _entries(run)
    if not entries:
        raise ParkfError(f"{run}: no ledger; expected a run that Snakemake has made: parkf run {run.name}")
    stages: dict[str, dict[str, Any]] = {}
    for name, jobs in sorted(_by_stage(entries).items()):
        taken = sum(bool(job.taken_from) for job in jobs)
        stages[name] = {
            "wall_s": round(sum(job.wall_s for job in jobs), 3),
            "cpu_s": round(sum(job.cpu_s for job in jobs), 3),
            "peak_mb": max(job.peak_mb for job in jobs),
            "jobs": len(jobs),
            **({"taken": taken} if taken else {}),
        }
    return {
        "stages": stages,
        "total_cpu_s": sum(stage["cpu_s"] for stage in stages.values()),
        "peak_mb": max(stage["peak_mb"] for stage in stages.values()),
    }


def _entries(run: Path) -> list[Entry]:
    """Return the jobs of a run, without parts of an earlier division, which nobody reads any more."""
    # The report that is being written replaces the one of the ledger.
    latest = (entry for entry in Ledger(run).latest().values() if entry.stage != "report")
    jobs = list({id(entry): entry for entry in latest}.values())
    while True:
        read = {path for job in jobs for path in job.inputs}
        is_read = [not read.isdisjoint(job.outputs) for job in jobs]
        # Of the last stages of a run, nothing is read.
        names = {_name(job) for job, one in zip(jobs, is_read, strict=True) if one}
        kept = [job for job, one in zip(jobs, is_read, strict=True) if one or _name(job) not in names]
        if len(kept) == len(jobs):
            return kept
        jobs = kept


def _by_stage(entries: Iterable[Entry]) -> Mapping[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(_name(entry), []).append(entry)
    return found


def _name(entry: Entry) -> str:
    """Return a stage's name, with those of the steps that it fits."""
    steps = entry.values.get("steps") or [entry.values.get("step", "")]
    return f"{entry.stage} {', '.join(steps)}".strip()
