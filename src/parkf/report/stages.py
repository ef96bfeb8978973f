"""Wall time, processor time and peak memory of every stage of a run, from the logs of its jobs."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.usage import Usage, read_usage, was_taken

# Name of one of several similar jobs, such as Snakemake's 3-of-8.
_PART = re.compile(r"\d+-of-(\d+)")


def collect_stages(logs: Path) -> dict[str, Any]:
    """Add up time and memory of the jobs of each stage.

    The folder holds ``<stage>.log`` for a stage of one job, and ``<stage>/<part>.log`` for a stage of several
    jobs. The result is ``stages.<stage> = {wall_s, cpu_s, peak_mb, jobs, spans, taken}``, and ``total_cpu_s``
    and ``peak_mb`` of all stages. Seconds are summed over the jobs of a stage; ``peak_mb`` is the peak of its
    largest job (MiB, :class:`parkf.io.usage.Usage`). ``spans`` are begin and end of each job, in seconds
    since the first job began, left out if the logs lack them. ``taken`` counts jobs whose products came from
    another run and which took almost no time; it is left out if there are none.
    """
    found: dict[str, list[Usage]] = {}
    taken: Counter[str] = Counter()
    for path in _of_this_run(logs):
        log = path.read_text(errors="replace")
        usage = read_usage(log)
        if usage is not None:
            stage = path.relative_to(logs).parts[0].removesuffix(".log")
            found.setdefault(stage, []).append(usage)
            taken[stage] += was_taken(log)
    if not found:
        raise ParkfError(f"{logs}: no log with a line 'parkf usage'; did the run go through Snakemake?")
    first = min((job.began for jobs in found.values() for job in jobs if job.began is not None), default=0.0)
    stages: dict[str, dict[str, Any]] = {}
    for stage, jobs in sorted(found.items()):
        spans = sorted(
            (round(job.began - first, 3), round(job.ended - first, 3))
            for job in jobs
            if job.began is not None and job.ended is not None
        )
        stages[stage] = {
            "wall_s": round(sum(job.wall_s for job in jobs), 3),
            "cpu_s": round(sum(job.cpu_s for job in jobs), 3),
            "peak_mb": max(job.peak_mb for job in jobs),
            "jobs": len(jobs),
        }
        optional = {"spans": spans, "taken": taken[stage]}
        stages[stage] |= {key: value for key, value in optional.items() if value}
    return {
        "stages": stages,
        "total_cpu_s": sum(stage["cpu_s"] for stage in stages.values()),
        "peak_mb": max(stage["peak_mb"] for stage in stages.values()),
    }


def _of_this_run(logs: Path) -> Iterator[Path]:
    """Find the logs of each stage's newest division into jobs; older divisions may have left other logs."""
    newest: dict[Path, tuple[float, str]] = {}
    files = [(path, path.stat().st_mtime, _PART.search(path.stem)) for path in sorted(logs.rglob("*.log"))]
    for path, written, part in files:
        if part is not None:
            newest[path.parent] = max(newest.get(path.parent, (0.0, "")), (written, part[1]))
    for path, _, part in files:
        if part is None or part[1] == newest[path.parent][1]:
            yield path
