"""CPU time of every stage on one core, and of the start of every command.

Run: python -m benchmarks.stages [--json FILE] [--against COMMIT] [--events N] [--repeats N]

The time is the user and system time of a command and of every process that it starts. A second sample, with
fewer events, measures the part that does not grow with the sample. This part is subtracted; it appears in
`start`. If a commit is named, its version and the present one are measured alternately.
"""

import json
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks import stage_lines
from benchmarks.command import parser
from benchmarks.starts import command_lines
from benchmarks.versions import Version, built, this_version

from parkf.proof.validation.throughput import device

UNITS = {
    "generate": "event",
    "states": "event",
    "hits_and_fates": "event",
    "datasets": "event",
    "candidates": "event",
    "full_fit": "track",
    "fit": "track",
    "train": "1000 rows",
    "start": "command",
}
# The smaller sample has this many times fewer events than the larger one.
_SMALLER = 8
_TRAINED_ROWS = (100_000, 400_000)

Costs = dict[str, list[float]]


def measure(version: Version, folder: Path, events: int) -> dict[str, float]:
    """Measure once the milliseconds that each stage takes per unit."""
    sizes = (max(1, events // _SMALLER), events)
    small, large = (_sample(version, folder / str(size), size) for size in sizes)
    costs = {}
    for name in small:
        (before, few), (after, many) = small[name], large[name]
        costs[name] = 1e3 * (after - before) / (many - few)
    before, after = (_train(version, folder / str(events), rows) for rows in _TRAINED_ROWS)
    costs["train"] = 1e6 * (after - before) / (_TRAINED_ROWS[1] - _TRAINED_ROWS[0])
    return costs


def starts(version: Version, folder: Path) -> dict[str, float]:
    """Measure once the milliseconds until the work of each command begins."""
    lines = command_lines(version.python, version.root, folder / stage_lines.FIELD)
    return {name: 1e3 * version.cpu_seconds(line, folder, fails=True) for name, line in lines.items()}


def _sample(version: Version, folder: Path, events: int) -> dict[str, tuple[float, int]]:
    """CPU seconds of each stage for a sample, and how many events or tracks it has."""
    for name in ("draws", "datasets"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    version.cpu_seconds(stage_lines.field(version), folder)
    seconds = {}
    for name, lines in stage_lines.stages(version, events).items():
        seconds[name] = sum(version.cpu_seconds(line, folder) for line in lines)
    tracks = pq.read_metadata(folder / "candidates.parquet").num_rows
    return {name: (cost, tracks if UNITS[name] == "track" else events) for name, cost in seconds.items()}


def _train(version: Version, folder: Path, rows: int) -> float:
    """CPU seconds of a training on `rows` rows, drawn from the sample with replacement."""
    table = pq.read_table(folder / f"datasets/{stage_lines.TRAINED}.parquet")
    random = np.random.Generator(np.random.Philox(key=[1, rows]))
    chosen = np.sort(random.integers(0, len(table), rows))
    name = f"{rows}.parquet"
    pq.write_table(table.take(pa.array(chosen)), folder / name)
    return sum(version.cpu_seconds(line, folder) for line in stage_lines.train(name))


def rounds(
    versions: list[Version], folder: Path, events: int, repeats: int
) -> Iterator[tuple[int, str, str, float]]:
    """Measure versions alternately; yield the version's number, kind and name of a figure, milliseconds."""
    for repeat in range(repeats):
        for number, version in enumerate(versions):
            own = folder / str(number)
            for name, cost in measure(version, own, events).items():
                yield number, "stages", name, cost
            for name, cost in starts(version, own / str(events)).items():
                yield number, "starts", name, cost
            print(f"round {repeat + 1} of {repeats}: {version.name}", flush=True)


def figures(costs: dict[str, Costs]) -> dict[str, Any]:
    """Medians over the repeats, in the form of the file."""
    middle = {kind: {name: median(all_of) for name, all_of in c.items()} for kind, c in costs.items()}
    middle["stages"]["start"] = median(middle["starts"].values())
    return {
        kind: {
            name: {"cpu_ms": cost, "unit": UNITS[name] if kind == "stages" else "command"}
            for name, cost in named.items()
        }
        for kind, named in middle.items()
    }


def show(one: dict[str, Any], other: dict[str, Any] | None, name: str | None) -> None:
    """Print the figures, beside those of another version if there is one."""
    print(f"{'CPU, ms':24s}{'here':>10s}" + (f"{name:>12.10s}{'ratio':>8s}" if other else "") + "  a")
    for kind in ("stages", "starts"):
        for stage, figure in one[kind].items():
            text = f"{stage:24s}{figure['cpu_ms']:10.3f}"
            if other:
                theirs = other[kind].get(stage)
                known = theirs is not None
                text += f"{theirs['cpu_ms']:12.3f}" if known else f"{'–':>12s}"
                text += f"{theirs['cpu_ms'] / figure['cpu_ms']:8.2f}" if known else f"{'–':>8s}"
            print(f"{text}  {figure['unit']}")


def main() -> None:
    """Measure, print, and write the file."""
    line = parser(__doc__)
    line.add_argument("--against", metavar="COMMIT", help="build this commit, and measure it in turns")
    line.add_argument("--events", type=int, default=160, help="of the larger sample")
    line.add_argument("--repeats", type=int, default=3)
    asked = line.parse_args()
    # If the benchmark is terminated, it still removes its folders and its worktree.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="parkf-stages-")))
        versions = [this_version()]
        if asked.against:
            versions.append(stack.enter_context(built(asked.against)))
        costs: list[dict[str, Costs]] = [
            {kind: defaultdict(list) for kind in ("stages", "starts")} for _ in versions
        ]
        for number, kind, name, cost in rounds(versions, folder, asked.events, asked.repeats):
            costs[number][kind][name].append(cost)
    ours, *theirs = (figures(one) for one in costs)
    show(ours, theirs[0] if theirs else None, asked.against)
    result: dict[str, Any] = {"processor": device(), "events": asked.events, "repeats": asked.repeats, **ours}
    if theirs:
        result["against"] = {"commit": asked.against, **theirs[0]}
        result["ratios"] = {
            name: theirs[0]["stages"][name]["cpu_ms"] / figure["cpu_ms"]
            for name, figure in ours["stages"].items()
        }
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
