"""Finds the costs of each rule's jobs from runs of different sizes, for the stages of `workflow/costs.yaml`.

Run: python -m benchmarks.costs results/RUN [results/RUN ...]

Each run was made with one chunk per sample, by one `parkf run`. Its ledger has the time and the memory of
each job, and Snakemake's text in its logs has the job's rule and units. The costs of a stage are a straight
line that is fitted to its jobs. The line for memory lies above all jobs.
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import yaml

from parkf.io.ledger import Entry, Ledger
from parkf.workflow.cluster import COSTS_FILE, Costs, load_costs

ROOT = Path(__file__).parents[1]
Jobs = dict[str, list[tuple[int, Entry]]]
_JOB = re.compile(
    r"rule (\w+):\n(?:    .*\n)*?    output: ([^,\n]+).*\n(?:    .*\n)*?    resources: .*units=(\d+)"
)


def collect(run: Path, known: Costs, jobs: Jobs) -> None:
    """Add a run's jobs to their stages: the units of each, and its entry in the ledger."""
    made = Ledger(run).latest()
    for rule, output, units in _JOB.findall((run / "logs/snakemake.txt").read_text(errors="replace")):
        entry = made.get(output)
        named = [stage for stage in known.stages if f"_{stage}_" in f"_{rule}_"]
        if named and entry is not None and not entry.taken_from:
            jobs[max(named, key=len)].append((int(units), entry))


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", help="folders results/RUN")
    jobs: Jobs = defaultdict(list)
    costs = load_costs(ROOT / COSTS_FILE)
    for run in parser.parse_args().runs:
        collect(run, costs, jobs)
    for stage in sorted(jobs):
        units = np.array([count for count, _ in jobs[stage]], dtype=float)
        memory = np.array([entry.peak_mb for _, entry in jobs[stage]])
        job_s, unit_s = line(units, np.array([entry.cpu_s for _, entry in jobs[stage]]))
        _, unit_mb = line(units, memory)
        entry = {
            "unit": costs.stages[stage].unit,
            "job_s": round(job_s, 2),
            "unit_ms": float(f"{1e3 * unit_s:.3g}"),
            "job_mb": round(float(np.max(memory - unit_mb * units))),
            "unit_kb": float(f"{1e3 * unit_mb:.2g}"),
            "disk_kb": costs.stages[stage].disk_kb,
        }
        text = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=200)
        print(f"  {stage}: {text.strip()}")


if __name__ == "__main__":
    main()
