"""Tests the errors of the parameters with fits of two independent halves of each dataset.

Run: python -m benchmarks.parameter_errors [production|improved]

For each step this prints the width of (p of one half − p of the other) over the error of the difference. The
width is one if the errors are right. A second width uses the errors from the curvature alone.
"""

import sys
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from parkf.model.steps import FORMS
from parkf.training.result import SetResult
from parkf.training.rows import read_batches, select
from parkf.training.train import train_rows

DATASETS = Path(__file__).parents[1] / "results/default/datasets"


def pulls(one: SetResult, other: SetResult, errors: str) -> list[float]:
    """Differences of the fitted parameters over their errors, without nuisance parameters."""
    return [
        (a - b) / float(np.hypot(error_a, error_b))
        for m, n in zip(one.minima, other.minima, strict=True)
        for name, a, b, error_a, error_b in zip(
            m.names, m.values, n.values, getattr(m, errors), getattr(n, errors), strict=True
        )
        if name.startswith("p")
    ]


def main() -> None:
    """Print one line for each step."""
    steps = FORMS["improved" if "improved" in sys.argv else "production"].steps
    everything: dict[str, list[float]] = {"errors": [], "naive_errors": []}
    for name in ("V", "VUT", "UT", "TFT", "T", "BEAM"):
        batches = list(read_batches(DATASETS / f"{name}.parquet"))
        halves = [
            train_rows([select(rows, rows["event"] % 2 == half) for rows in batches], steps[name])
            for half in (0, 1)
        ]
        widths = []
        for errors, kept in everything.items():
            of_step = [p for pair in zip(*halves, strict=True) for p in pulls(*pair, errors)]
            kept += of_step
            widths.append(np.sqrt(np.mean(np.square(of_step))))
        print(
            f"{name:5s} {len(of_step):4d} parameters: width {widths[0]:.2f}, naive {widths[1]:.2f}",
            flush=True,
        )
    widths = [np.sqrt(np.mean(np.square(kept))) for kept in everything.values()]
    print(f"all   {len(everything['errors']):4d} parameters: width {widths[0]:.2f}, naive {widths[1]:.2f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
