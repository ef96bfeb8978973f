"""Time and memory of the whole training, with the workflow's jobs on two cores.

Run: python -m benchmarks.training [rows a step]

It draws rows from the datasets of results/default (`make run`), a million by default, and uses the field of
that run. If a dataset has fewer rows, some are drawn repeatedly, which costs the same.
"""

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from parkf.io.tables import STEP_DATA
from parkf.model.steps import STEP_NAMES

ROOT = Path(__file__).parents[1]
RUN = ROOT / "results/default"
ROWS_AT_ONCE = 100_000
# Steps in an order that begins with the longest jobs of the workflow.
STEPS = ("T", "UT", "VUT", "UTTF", "V", "BEAM", "TFT")


@dataclass(frozen=True)
class Cost:
    """Cost of a job: wall and CPU seconds, and peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def draw_rows(source: Path, target: Path, count: int) -> None:
    """Write `count` rows, drawn from a step dataset with replacement."""
    with STEP_DATA.open(source) as file:
        table = file.read()
    random = np.random.Generator(np.random.Philox(key=[1, count]))
    with STEP_DATA.writer(target) as writer:
        for begin in range(0, count, ROWS_AT_ONCE):
            chosen = random.integers(0, len(table), min(ROWS_AT_ONCE, count - begin))
            writer.write_table(table.take(pa.array(chosen)))


def run(*arguments: str | Path) -> Cost:
    """Run a `parkf` command and wait until it ends."""
    begin = time.perf_counter()
    process = Popen([Path(sys.executable).with_name("parkf"), *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"parkf {' '.join(map(str, arguments))} failed")
    wall = time.perf_counter() - begin
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def train(folder: Path, forms: str) -> Iterator[tuple[str, Cost]]:
    """Train the magnet table on both cores, then all steps, two at a time; yield the cost of each."""
    table = folder / "table.npz"

    def job(step: str, *more: str | Path) -> Cost:
        dataset = folder / f"{step}.parquet"
        return run("train", step, dataset, folder / f"{step}.json", "--forms", forms, *more)

    def with_table() -> Cost:
        return run(
            *("train-table", table, folder / "table.json", "--field", RUN / "field.npz", "--seed", "1"),
            *("--geometry", ROOT / "data/geometry/run3.yaml", "--rays", "2097152", "--threads", "2"),
            *("--forms", forms),
        )

    yield "table", with_table()
    with ThreadPoolExecutor(2) as cores:
        more = {"UTTF": ("--table", table)}
        jobs = {step: cores.submit(job, step, *more.get(step, ())) for step in STEPS}
        for step, cost in jobs.items():
            yield step, cost.result()


def main() -> None:
    """Print what training costs with production's forms and with the improved ones."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with TemporaryDirectory(prefix="parkf-benchmark-") as name:
        folder = Path(name)
        for step in STEP_NAMES:
            draw_rows(RUN / f"datasets/{step}.parquet", folder / f"{step}.parquet", count)
        for forms in ("production", "improved"):
            print(f"{forms} forms, {count} rows a step: wall s, CPU s, peak MB")
            begin = time.perf_counter()
            costs = dict(train(folder, forms))
            wall = time.perf_counter() - begin
            for job, cost in costs.items():
                print(f"  {job:6s} {cost.wall:7.1f} {cost.cpu:7.1f} {cost.memory:7.0f}")
            cpu, memory = sum(c.cpu for c in costs.values()), max(c.memory for c in costs.values())
            print(f"  all    {wall:7.1f} {cpu:7.1f} {memory:7.0f}", flush=True)


if __name__ == "__main__":
    main()
