"""Finds the costs of each rule's jobs from runs of different sizes, for the stages of `workflow/costs.yaml`.

Run: python -m benchmarks.costs FOLDER CONFIG [FOLDER CONFIG ...]

Each run has finished in its folder, with its configuration and one chunk per sample. Every log ends with the
time and memory of its job. The plan of the run says to which rule the job belongs and how many units it has.
The costs of a stage are a straight line that is fitted to its jobs. The line for memory lies above all jobs.
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import yaml
from benchmarks.plan import ROOT, plan
from parkf.io.usage import Usage, read_usage, was_taken

from parkf.workflow.cluster import COSTS_FILE, Costs, load_costs
from parkf.workflow.cluster.schedule import stage_of
from parkf.workflow.config_files import laid, read_layers

Jobs = dict[str, list[tuple[int, Usage]]]


def collect(folder: Path, config: Path, known: Costs, jobs: Jobs) -> None:
    """Add a run's jobs to their stages: the units of each, and its time and memory."""
    for job in plan(laid(read_layers(config)), {}).jobs:
        log = folder / str(job.log[0]) if job.log else None
        if log is None or job.resources.get("units") is None or not log.is_file():
            continue
        said = log.read_text(errors="replace")
        usage = read_usage(said)
        if usage is not None and not was_taken(said):
            stage = stage_of(known, job.rule.name) or job.rule.name
            jobs[stage].append((job.resources["units"], usage))


def line(units: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Fit a line to values by least squares; return its value at no unit and its slope, both at least 0."""
    if np.ptp(units) == 0:
        return float(values.max()), 0.0
    slope, start = np.polyfit(units, values, 1)
    if slope < 0:
        return float(values.max()), 0.0
    if start < 0:
        return 0.0, float(np.sum(units * values) / np.sum(units * units))
    return float(start), float(slope)


def main() -> None:
    """Print the stages in the form of the file."""
    jobs: Jobs = defaultdict(list)
    costs = load_costs(ROOT / COSTS_FILE)
    pairs = list(map(Path, sys.argv[1:]))
    for folder, config in zip(pairs[::2], pairs[1::2], strict=True):
        collect(folder, config, costs, jobs)
    known = costs.stages
    for rule in sorted(jobs):
        units = np.array([count for count, _ in jobs[rule]], dtype=float)
        cpu = np.array([usage.cpu_s for _, usage in jobs[rule]])
        memory = np.array([usage.peak_mb for _, usage in jobs[rule]])
        job_s, unit_s = line(units, cpu)
        _, unit_mb = line(units, memory)
        entry = {
            "unit": known[rule].unit,
            "job_s": round(job_s, 2),
            "unit_ms": float(f"{1e3 * unit_s:.3g}"),
            "job_mb": round(float(np.max(memory - unit_mb * units))),
            "unit_kb": float(f"{1e3 * unit_mb:.2g}"),
            "disk_kb": known[rule].disk_kb,
        }
        print(
            f"  {rule}: {yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=200).strip()}"
        )


if __name__ == "__main__":
    main()
