"""Memory of every stage at 1, 10 and 100 times as many events, and the efficiency of a second core.

Run: python -m benchmarks.scaling [--json FILE] [--events 250] [--rows 1000000 10000000] [--only memory]

One polarity goes through the chain of commands, at three sizes. Then a step is trained, and its dataset is
checked, with as many rows as the options request. These are the rows of the chain, repeated with other event
numbers. The efficiency is the rate of two equal jobs side by side, over twice the rate of one job that runs
alone. Nothing else should run meanwhile.

The file holds ``memory.<stage>[] = {events, rows, peak_mb, cpu_s}`` and ``efficiency.<stage>``. The rows are
those that the stage wrote or fitted, and the peaks are those of :class:`parkf.io.usage.Usage`.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.command import parser, write

from parkf.io.tables import STEP_DATA
from parkf.io.terminal import aligned
from parkf.io.usage import VARIABLE, Usage, read_usage
from parkf.training.rows import scratch_bytes

ROOT = Path(__file__).parents[1]
PARKF = Path(sys.executable).with_name("parkf")
FACTORS = (1, 10, 100)
# The size of the jobs whose efficiency is measured, and how often single jobs and pairs alternate.
FACTOR_OF_PAIRS, TURNS = 10, 5
ROWS_AT_ONCE = 100_000
DETECTOR = (
    *("--geometry", ROOT / "data/geometry/run3.yaml"),
    *("--alignment", ROOT / "data/geometry/alignment_nominal.yaml"),
)
SAMPLE = "validation_up"
# The step that is trained at every size: it has the most rows.
STEP = "V"
# Number of rows that default.yaml keeps of a step.
MAX_ROWS = 300_000


@dataclass(frozen=True)
class Place:
    """Paths of the files of one size."""

    root: Path
    events: int

    @property
    def folder(self) -> Path:
        """Folder of this size alone."""
        return self.root / str(self.events)

    def file(self, kind: str) -> Path:
        """Return the file of a kind."""
        return self.folder / kind / f"{SAMPLE}.parquet"

    @property
    def detector(self) -> tuple[object, ...]:
        """Options that name detector and field."""
        return (*DETECTOR, "--field", self.root / "field.npz")

    @property
    def simulation(self) -> tuple[object, ...]:
        """Options of a simulation."""
        return (*self.detector, "--polarity", 1, "--seed", 2)


@dataclass(frozen=True)
class Stage:
    """The command of a stage, and the file whose rows it wrote or fitted."""

    command: Callable[[Place], tuple[object, ...]]
    rows: Callable[[Place], Path]


def _simulated(*kinds: str) -> Stage:
    def command(at: Place) -> tuple[object, ...]:
        outputs = [word for kind in kinds for word in (f"--{kind}", at.file(kind))]
        return ("simulate", at.file("particles"), *outputs, *at.simulation)

    return Stage(command, lambda at: at.file(kinds[0]))


def _fitted(name: str, *options: object) -> Stage:
    newest = sorted((ROOT / "params").glob("*-r*"))[-1]
    return Stage(
        lambda at: ("fit", newest, at.file("candidates"), at.file(f"fitted/{name}"), *options),
        lambda at: at.file(f"fitted/{name}"),
    )


# Stages in the order in which they run. Each reads files of earlier ones.
STAGES = {
    "generate": Stage(
        lambda at: ("generate", at.file("particles"), *DETECTOR[:2], "--events", at.events, "--seed", 1),
        lambda at: at.file("particles"),
    ),
    "states": _simulated("states"),
    "hits-and-fates": _simulated("hits", "fates"),
    "draw": Stage(
        lambda at: (
            *("draw", at.file("particles"), at.file("states"), at.folder / f"draws/{SAMPLE}.npz", *DETECTOR),
            *("--max-rows", MAX_ROWS),
        ),
        lambda at: at.file("states"),
    ),
    "thresholds": Stage(
        lambda at: (
            *("thresholds", at.folder / "draws", at.folder / "thresholds.json", "--samples", SAMPLE),
            *("--max-rows", MAX_ROWS),
        ),
        lambda at: at.file("states"),
    ),
    "datasets": Stage(
        lambda at: (
            *("datasets", at.file("particles"), at.file("states"), at.folder / f"rows/{SAMPLE}"),
            *("--thresholds", at.folder / "thresholds.json", *at.detector),
        ),
        lambda at: at.folder / f"rows/{SAMPLE}/{STEP}.parquet",
    ),
    "gather-dataset": Stage(
        lambda at: (
            *("gather-dataset", STEP, at.folder / "rows", at.folder / f"datasets/{STEP}.parquet"),
            *("--samples", SAMPLE),
        ),
        lambda at: at.folder / f"datasets/{STEP}.parquet",
    ),
    "check-dataset": Stage(
        lambda at: ("check-dataset", STEP, at.folder / f"datasets/{STEP}.parquet"),
        lambda at: at.folder / f"datasets/{STEP}.parquet",
    ),
    "train": Stage(
        lambda at: ("train", STEP, at.folder / f"datasets/{STEP}.parquet", at.folder / f"{STEP}.json"),
        lambda at: at.folder / f"datasets/{STEP}.parquet",
    ),
    "candidates": Stage(
        lambda at: (*("candidates", at.file("hits"), at.file("candidates"), *at.detector, "--polarity", 1),),
        lambda at: at.file("candidates"),
    ),
    "fits": _fitted("parkf"),
    "fits-float64": _fitted("parkf_float64", "--precision", "float64"),
    "full-fits": Stage(
        lambda at: ("fit-full", at.file("candidates"), at.file("fitted/full"), *at.detector),
        lambda at: at.file("fitted/full"),
    ),
    "validate": Stage(
        lambda at: (
            *("validate", at.folder, at.folder / "validation.json"),
            *("--samples", SAMPLE, "--fits", "parkf full"),
        ),
        lambda at: at.file("candidates"),
    ),
}
PAIRED = ("states", "datasets", "candidates", "fits")


def make_folders(command: tuple[object, ...]) -> None:
    """Make the folders of the files that a command names: commands make none."""
    for word in command:
        if isinstance(word, Path):
            word.parent.mkdir(parents=True, exist_ok=True)


def run(command: tuple[object, ...]) -> Usage:
    """Run a `parkf` command to its end and return its usage, which it reports itself."""
    make_folders(command)
    done = subprocess.run(
        [PARKF, *map(str, command)],
        env={**os.environ, VARIABLE: "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    usage = read_usage(done.stderr)
    if done.returncode or usage is None:
        raise SystemExit(f"parkf {' '.join(map(str, command))} failed:\n{done.stderr}")
    return usage


def side_by_side(commands: list[tuple[object, ...]]) -> float:
    """Start all commands at once; return the seconds until the last one ends."""
    for command in commands:
        make_folders(command)
    begin = time.perf_counter()
    jobs = [subprocess.Popen([PARKF, *map(str, c)], stderr=subprocess.DEVNULL) for c in commands]
    if sum(job.wait() for job in jobs):
        raise SystemExit(f"parkf {' '.join(map(str, commands[0]))} failed")
    return time.perf_counter() - begin


def measured(usage: Usage, events: int, rows: Path) -> dict[str, float]:
    """Return the figures of one job."""
    count = pq.read_metadata(rows).num_rows
    return {"events": events, "rows": count, "peak_mb": usage.peak_mb, "cpu_s": usage.cpu_s}


def chain(root: Path, events: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Run all stages at one size; yield the figures of each."""
    at = Place(root, events)
    for name, stage in STAGES.items():
        yield name, measured(run(stage.command(at)), events, stage.rows(at))


def repeat_rows(source: Path, target: Path, count: int) -> None:
    """Write `count` rows of a step dataset. Rows are repeated within each set, with new event numbers."""
    with STEP_DATA.open(source) as file:
        table = file.read().sort_by("set")
    sets, of_set = np.unique(table["set"].to_numpy(), return_counts=True)
    ends = np.round(np.cumsum(of_set) / len(table) * count).astype(np.int64)
    place, written = table.schema.get_field_index("event"), 0
    # Rows are drawn at random, not in their order: a reader that keeps every n-th row of a repeating sequence
    # would see only a few different ones.
    random = np.random.Generator(np.random.Philox(key=[1, count]))
    with STEP_DATA.writer(target) as writer:
        for number, end in zip(sets, ends, strict=True):
            own = table.filter(pa.array(table["set"].to_numpy() == number))
            while written < end:
                rows = own.take(pa.array(random.integers(0, len(own), min(ROWS_AT_ONCE, end - written))))
                event = pa.array(np.arange(written, written + len(rows)), pa.int32())
                writer.write_table(rows.set_column(place, table.schema.field(place), event))
                written += len(rows)
            # Each parameter set begins a new row group.
            writer.flush()


def many_rows(source: Path, root: Path, count: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Check and train a dataset of so many rows."""
    dataset = root / f"{count}.parquet"
    repeat_rows(source, dataset, count)
    for name, command in (
        ("check-dataset-rows", ("check-dataset", STEP, dataset)),
        ("train-rows", ("train", STEP, dataset, root / "many.json")),
    ):
        yield name, measured(run(command), 0, dataset)
    dataset.unlink()


def efficiency(root: Path, events: int) -> Iterator[tuple[str, float]]:
    """Rate of two jobs side by side over twice the rate of one, for the stages that run in chunks."""
    places = [Place(root, events), Place(root / "beside", events)]
    shutil.copytree(places[0].folder, places[1].folder)
    shutil.copy(root / "field.npz", places[1].root)
    for name in PAIRED:
        stage = STAGES[name]
        ratios = [
            side_by_side([stage.command(places[0])]) / side_by_side([stage.command(at) for at in places])
            for _ in range(TURNS)
        ]
        yield name, median(ratios)


def main() -> None:
    """Print both tables, and write them."""
    line = parser(__doc__)
    line.add_argument("--events", type=int, default=250, help="at 1 times; as a default run validates with")
    line.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000], help="of one step")
    line.add_argument("--only", choices=["memory", "efficiency"])
    asked = line.parse_args()
    content: dict[str, Any] = {"memory": {}, "efficiency": {}}

    def tell(name: str, figures: dict[str, float]) -> None:
        content["memory"].setdefault(name, []).append(figures)
        print(f"{name}: {figures}", file=sys.stderr, flush=True)

    with TemporaryDirectory(prefix="parkf-benchmark-") as folder:
        root = Path(folder)
        run(("field", ROOT / "data/field/dipole.json", root / "field.npz"))
        factors = FACTORS if asked.only != "efficiency" else (FACTOR_OF_PAIRS,)
        for factor in factors:
            for name, figures in chain(root, factor * asked.events):
                tell(name, figures)
        source = Place(root, factors[-1] * asked.events).folder / f"datasets/{STEP}.parquet"
        for count in asked.rows if asked.only != "efficiency" else []:
            for name, figures in many_rows(source, root, count):
                tell(name, figures)
            print(f"  TMPDIR of the training: {scratch_bytes(count, STEP) / 1e9:.1f} GB", file=sys.stderr)
        if asked.only != "memory":
            content["efficiency"] = dict(efficiency(root, FACTOR_OF_PAIRS * asked.events))
    rows = [[name, *one.values()] for name, several in content["memory"].items() for one in several]
    print(aligned(["stage", "events", "rows", "peak MB", "CPU s"], rows))
    for name, value in content["efficiency"].items():
        print(f"{name}: two cores do {200 * value:.0f} % of what one does")
    write(asked.json, content)


if __name__ == "__main__":
    main()
