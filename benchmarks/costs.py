"""What a job of each rule costs, from runs of different sizes: the stages of `workflow/costs.yaml`.

Run: python -m benchmarks.costs FOLDER CONFIG [FOLDER CONFIG ...]

Each run has finished in its folder, in one chunk a sample, with its configuration. Every log ends with what
its job took; the plan of the run says which rule it was of and how many units it had. The costs of a stage
are a line that is fitted to its jobs; the line for memory lies above all jobs.
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
    """Add a run's jobs to those of their stages: units, and what each took."""
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
    """Least squares of values at units, none of both parts below 0: at no unit, and a unit."""
    if np.ptp(units) == 0:
        return float(values.max()), 0.0
    slope, start = np.polyfit(units, values, 1)
    if slope < 0:
        return float(values.max()), 0.0
    if start < 0:
        return 0.0, float(np.sum(units * values) / np.sum(units * units))
    return float(start), float(slope)


def main() -> None:
    """Print the stages, ready to be put into the file."""
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
