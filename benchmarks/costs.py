"""Finds the costs of each rule's jobs from runs of different sizes, for the stages of `workflow/costs.yaml`.

Run: python -m benchmarks.costs CONFIG [CONFIG ...]

Each run has finished in the working folder, with one chunk per sample. Its ledger has the time and memory of
each job. The costs of a stage are a straight line that is fitted to its jobs. The line for memory lies above
all jobs.
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import yaml

from parkf.io.ledger import Entry, Ledger
from parkf.workflow.config_files import laid, read_layers
from parkf.workflow.run import Run

# Stages of which the rows of a step decide, and stages whose crossings are those of their products.
_OF_ROWS, _OF_FILES = ("train", "datasets"), ("generate", "candidates", "fit", "fit_full")
_OF_VALIDATION = ("measure_kinds", "measure_long", "validate")


def sized(run: Run, entry: Entry) -> tuple[str, float]:
    """Return the name in the file of costs for a job, and how many units of it the job had."""
    names = [Path(path).stem for path in entry.outputs]
    stage, training = entry.stage, run["training"]
    if stage == "simulate":
        of = run.purpose(names[0])
        return f"simulate_{of if of in ('training', 'validation') else 'signal'}", sum(
            map(run.size, {*names})
        )
    if stage in _OF_ROWS:
        return stage, sum(map(run.rows, names))
    if stage in _OF_FILES:
        return stage, sum(run.size(name.split("-")[-1]) for name in names)
    whole = {
        **dict.fromkeys(_OF_VALIDATION, run.sizes("validation")),
        "generate_signal": len(run.chunk(names[0])) if stage == "generate_signal" else 0,
        "rows": run.sizes("training"),
        "assemble": sum(map(run.scored, run.training_chunks)),
        "table": training["rays"],
        "close": (training["closure"] or {}).get("rays", 0),
        "closure_tracks": (training["closure"] or {}).get("tracks", 0) * len(run["polarities"]),
        "accuracy": sum(map(run.rows, run.sets)),
    }
    return stage, whole.get(stage, 1)


def line(units: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Fit a line to values by least squares; return its value at no unit and its slope, both at least 0."""
    slope, start = np.polyfit(units, values, 1) if np.ptp(units) else (-1.0, 0.0)
    if slope < 0:
        return float(values.max()), 0.0
    if start < 0:
        return 0.0, float(np.sum(units * values) / np.sum(units * units))
    return float(start), float(slope)


def main() -> None:
    """Print the stages in the form of the file."""
    jobs: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for path in map(Path, sys.argv[1:]):
        run = Run(laid(read_layers(path)))
        for entry in Ledger(Path("results", run["run"])).entries():
            if entry.stage and not entry.taken_from:
                stage, units = sized(run, entry)
                jobs[stage].append((units, entry.cpu_s, entry.peak_mb))
    for stage, found in sorted(jobs.items()):
        units, cpu, memory = np.array(found).T
        (job_s, unit_s), (_, unit_mb) = line(units, cpu), line(units, memory)
        entry = {
            "job_s": round(job_s, 2),
            "unit_ms": float(f"{1e3 * unit_s:.3g}"),
            "job_mb": round(float(np.max(memory - unit_mb * units))),
            "unit_kb": float(f"{1e3 * unit_mb:.2g}"),
        }
        print(f"  {stage}: {yaml.safe_dump(entry, default_flow_style=True, sort_keys=False).strip()}")


if __name__ == "__main__":
    main()
