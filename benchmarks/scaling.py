"""Memory and time of every stage at 1, 10 and 100 times as many events, and the efficiency of a second core.

Run: python -m benchmarks.scaling [--json FILE] [--events 250] [--rows 1000000 10000000] [--only memory]

One polarity goes through the chain of stages, at three sizes. Then a step is trained, and its dataset is
checked, with as many rows as the options request. These are the rows of the chain, repeated with other event
numbers. The efficiency is the rate of two equal jobs side by side, over twice the rate of one job that runs
alone. Nothing else should run meanwhile.

The file holds ``memory.<stage>[] = {events, rows, peak_mb, cpu_s}`` and ``efficiency.<stage>``. The rows are
those that the stage wrote or fitted; the peak is that of its largest process.
"""

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
from benchmarks.command import parser, stage, stage_line, usage_of, write

from parkf.io.tables import STEP_DATA
from parkf.io.terminal import aligned
from parkf.model.steps import FORMS
from parkf.training.rows import scratch_bytes

ROOT = Path(__file__).parents[1]
FACTORS = (1, 10, 100)
# The size of the jobs whose efficiency is measured, and how often single jobs and pairs alternate.
FACTOR_OF_PAIRS, TURNS = 10, 5
ROWS_AT_ONCE = 100_000
SET = sorted((ROOT / "params").glob("*-r*"))[-1]
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
    def dataset(self) -> Path:
        """The dataset of the step that is trained."""
        return self.folder / f"datasets/{STEP}.parquet"

    @property
    def detector(self) -> dict[str, Path]:
        """Arguments that name the detector and its field."""
        data = ROOT / "data/geometry"
        files = data / "run3.yaml", data / "alignment_nominal.yaml", self.root / "field.npz"
        return dict(zip(("geometry", "alignment", "field"), files, strict=True))


@dataclass(frozen=True)
class Stage:
    """A stage with its arguments, and the file whose rows it wrote or fitted."""

    name: str
    arguments: Callable[[Place], dict[str, Any]]
    rows: Callable[[Place], Path]

    def line(self, at: Place) -> list[str]:
        """Return its command line, and make the folders of the files there."""
        given = self.arguments(at)
        for value in given.values():
            for file in value if isinstance(value, list) else [value]:
                if isinstance(file, Path):
                    file.parent.mkdir(parents=True, exist_ok=True)
        return stage_line(self.name, **given)


def _simulated(*kinds: str) -> Stage:
    def arguments(at: Place) -> dict[str, Any]:
        beam = {"particles": at.file("particles"), "polarity": 1, "seed": 2}
        return {**at.detector, **beam, **{kind: at.file(kind) for kind in kinds}}

    return Stage("simulate", arguments, lambda at: at.file(kinds[0]))


def _of_kind(name: str, kind: str, arguments: Callable[[Place], dict[str, Any]]) -> Stage:
    """Return a stage that writes the file of a kind."""
    return Stage(name, arguments, lambda at: at.file(kind))


def _fitted(precision: str) -> Stage:
    how = {"scheme": "smoother", "precision": precision, "backend": "cpu", "robust": False, "score": False}
    kind = "fitted/parkf" if precision == "float32" else "fitted/parkf_float64"

    def arguments(at: Place) -> dict[str, Any]:
        files = {"candidates": [at.file("candidates")], "outputs": [at.file(kind)]}
        return {"set": [SET / "manifest.json"], **files, "fits": {kind: how}}

    return _of_kind("fit", kind, arguments)


def _validated(at: Place) -> dict[str, Any]:
    fits = ("parkf", "full", "parkf_float64")
    return {
        **{kind: [at.file(kind)] for kind in ("particles", "candidates", "fates")},
        "fitted": [at.file(f"fitted/{fit}") for fit in fits],
        **{"kinds": [], "misaligned": [], "signals": [], "samples": [SAMPLE], "fits": list(fits[:2])},
        **{"field": at.detector["field"], "inside": at.root / "inside.json"},
        "output": at.folder / "validation.json",
    }


# Stages in the order in which they run. Each reads files of earlier ones.
STAGES = {
    "generate": _of_kind(
        "generate",
        "particles",
        lambda at: {
            "geometry": at.detector["geometry"],
            **{"outputs": [at.file("particles")], "seeds": [1], "events": at.events},
        },
    ),
    "states": _simulated("states"),
    "hits-and-fates": _simulated("hits", "fates"),
    "states-and-draws": Stage(
        "simulate",
        lambda at: {
            **_simulated("states").arguments(at),
            **{"draws": at.folder / "draws.npz", "max_rows": MAX_ROWS},
        },
        lambda at: at.file("states"),
    ),
    "thresholds": Stage(
        "thresholds",
        lambda at: {
            **{"draws": [at.folder / "draws.npz"], "output": at.folder / "thresholds.json"},
            "max_rows": MAX_ROWS,
        },
        lambda at: at.file("states"),
    ),
    "rows": Stage(
        "rows",
        lambda at: {
            **at.detector,
            **{kind: at.file(kind) for kind in ("particles", "states")},
            "thresholds": at.folder / "thresholds.json",
            "outputs": [at.folder / f"rows/{step}.parquet" for step in FORMS["improved"].steps],
        },
        lambda at: at.folder / f"rows/{STEP}.parquet",
    ),
    "datasets": Stage(
        "datasets",
        lambda at: {"rows": [at.folder / f"rows/{STEP}.parquet"], "outputs": [at.dataset]},
        lambda at: at.dataset,
    ),
    "adopt-dataset": Stage(
        "adopt_dataset",
        lambda at: {"dataset": at.dataset, "output": at.folder / "adopted.parquet", "step": STEP},
        lambda at: at.dataset,
    ),
    "train": Stage(
        "train",
        lambda at: {"dataset": [at.dataset], "output": at.folder / f"{STEP}.json", "step": STEP},
        lambda at: at.dataset,
    ),
    "candidates": _of_kind(
        "candidates",
        "candidates",
        lambda at: {
            **at.detector,
            **{"hits": at.file("hits"), "output": at.file("candidates"), "polarity": 1},
        },
    ),
    "fits": _fitted("float32"),
    "fits-float64": _fitted("float64"),
    "full-fits": _of_kind(
        "fit_full",
        "fitted/full",
        lambda at: {
            **at.detector,
            **{"candidates": [at.file("candidates")], "outputs": [at.file("fitted/full")]},
        },
    ),
    "validate": _of_kind("validate", "candidates", _validated),
}
PAIRED = ("states", "rows", "candidates", "fits")


def side_by_side(lines: list[list[str]]) -> float:
    """Start all command lines at once; return the seconds until the last one ends."""
    begin = time.perf_counter()
    jobs = [subprocess.Popen(line, stderr=subprocess.DEVNULL) for line in lines]
    if sum(job.wait() for job in jobs):
        raise SystemExit(f"{' '.join(lines[0])} failed")
    return time.perf_counter() - begin


def measured(line: list[str], events: int, rows: Path) -> dict[str, float]:
    """Run a job, and return its figures."""
    cpu_s, peak_mb = usage_of(line)
    count = pq.read_metadata(rows).num_rows
    return {"events": events, "rows": count, "peak_mb": peak_mb, "cpu_s": cpu_s}


def chain(root: Path, events: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Run all stages at one size; yield the figures of each."""
    at = Place(root, events)
    for name, one in STAGES.items():
        yield name, measured(one.line(at), events, one.rows(at))


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
    files = {"dataset": dataset, "output": root / "adopted.parquet", "step": STEP}
    yield "adopt-dataset-rows", measured(stage_line("adopt_dataset", **files), 0, dataset)
    files |= {"dataset": [dataset], "output": root / "many.json"}
    yield "train-rows", measured(stage_line("train", **files), 0, dataset)
    dataset.unlink()


def efficiency(root: Path, events: int) -> Iterator[tuple[str, float]]:
    """Rate of two jobs side by side over twice the rate of one, for the stages that run in chunks."""
    places = [Place(root, events), Place(root / "beside", events)]
    shutil.copytree(places[0].folder, places[1].folder)
    shutil.copy(root / "field.npz", places[1].root)
    for name in PAIRED:
        line = STAGES[name].line
        ratios = [
            side_by_side([line(places[0])]) / side_by_side([line(at) for at in places]) for _ in range(TURNS)
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
        stage("field", source=ROOT / "data/field/dipole.json", output=root / "field.npz")
        write(root / "inside.json", {})
        factors = FACTORS if asked.only != "efficiency" else (FACTOR_OF_PAIRS,)
        for factor in factors:
            for name, figures in chain(root, factor * asked.events):
                tell(name, figures)
        source = Place(root, factors[-1] * asked.events).dataset
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
