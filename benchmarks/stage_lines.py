"""Command lines of the stages, for versions of parkf with different commands.

A stage works in a folder, on the files that earlier stages wrote there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.versions import Version

Line = tuple[str | Path, ...]

STEPS = ("V", "VUT", "UT", "UTTF", "TFT", "T", "BEAM")
# The training is timed for this step: all of its parameters are free, and it needs no table.
TRAINED = "VUT"
# Rows that are kept of each step, as in a default run: 300,000 from 2,000 events.
ROWS_OF_AN_EVENT = 150
FEWEST_ROWS = 1000  # the smallest number that the commands accept
FIELD = "field.npz"
SAMPLE = "sample"
_SET = "params/2026-run3-like-2-r004"
_SEED: Line = ("--seed", "1")
_POLARITY: Line = ("--polarity", "-1")


def field(version: Version) -> Line:
    """Make the field map that all stages read."""
    return "field", version.root / "data/field/dipole.json", FIELD


def stages(version: Version, events: int) -> dict[str, list[Line]]:
    """Command lines of each stage in their order, for a sample of `events` events."""
    detector = _detector(version)
    with_field: Line = (*detector, "--field", FIELD)
    # This set is of an earlier geometry.
    trust: Line = ("--trust",) if version.takes("fit", "--trust") else ()
    simulate: Line = ("simulate", "particles.parquet", *with_field, *_POLARITY, *_SEED)
    return {
        "generate": [("generate", "particles.parquet", *detector[:2], "--events", str(events), *_SEED)],
        "states": [(*simulate, "--states", "states.parquet")],
        "hits_and_fates": [(*simulate, "--hits", "hits.parquet", "--fates", "fates.parquet")],
        "datasets": list(_datasets(version, with_field, max(FEWEST_ROWS, ROWS_OF_AN_EVENT * events))),
        "candidates": [("candidates", "hits.parquet", "candidates.parquet", *with_field, *_POLARITY)],
        "full_fit": [("fit-full", "candidates.parquet", "full.parquet", *with_field)],
        "fit": [("fit", version.root / _SET, "candidates.parquet", "fitted.parquet", *trust)],
    }


def train(rows: str) -> list[Line]:
    """Command lines of the training on a file of rows."""
    return [("train", TRAINED, rows, "fit.json")]


def _detector(version: Version) -> Line:
    folder = version.root / "data/geometry"
    return "--geometry", folder / "run3.yaml", "--alignment", folder / "alignment_nominal.yaml"


def _in_one(version: Version, with_field: Line, rows: int) -> Iterator[Line]:
    """Make the rows of all steps from the particles and states of all samples at once."""
    samples = ("--particles", "particles.parquet", "--states", "states.parquet")
    yield ("datasets", "datasets", *samples, *with_field, "--max-rows", str(rows))


def _in_chunks(version: Version, with_field: Line, rows: int) -> Iterator[Line]:
    """Draw the rows to keep, make them chunk by chunk, and gather them by step."""
    read: Line = ("particles.parquet", "states.parquet")
    kept: Line = ("--max-rows", str(rows))
    yield ("draw", *read, f"draws/{SAMPLE}.npz", *_detector(version), *kept)
    yield ("thresholds", "draws", "thresholds.json", "--samples", SAMPLE, *kept)
    yield ("datasets", *read, f"rows/{SAMPLE}", "--thresholds", "thresholds.json", *with_field)
    for step in STEPS:
        yield ("gather-dataset", step, "rows", f"datasets/{step}.parquet", "--samples", SAMPLE)


# A version makes datasets with the first of these commands that it has.
_DATASETS: dict[str, Callable[[Version, Line, int], Iterator[Line]]] = {
    "gather-dataset": _in_chunks,
    "datasets": _in_one,
}


def _datasets(version: Version, with_field: Line, rows: int) -> Iterator[Line]:
    lines = next(lines for name, lines in _DATASETS.items() if version.knows(name))
    return lines(version, with_field, rows)
