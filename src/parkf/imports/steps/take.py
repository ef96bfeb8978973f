"""Import of step datasets as a stream: staged, inspected, then written set by set."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.imports.columns import ROWS
from parkf.imports.steps.column_map import load_column_map, mapped_rows
from parkf.imports.steps.physics import inspect_step
from parkf.imports.steps.rows import Carrier, Reservoir
from parkf.imports.steps.tuning import TREES, tuning_rows
from parkf.io.errors import ParkfError
from parkf.io.events import concatenate
from parkf.io.files import matching, scratch_folder
from parkf.io.findings import Inspection
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.carry import Rows, with_target
from parkf.training.datasets.checks import check_dataset
from parkf.training.datasets.gather import RowsBySet, gather_rows


@dataclass(frozen=True)
class Taken:
    """Numbers of rows of one step: written, and left out because Runge-Kutta left the map (`lost`)."""

    step: str
    rows: int
    lost: int


def import_steps(
    source: str,
    folder: Path,
    *,
    field: FieldMap,
    polarity: int | None,
    steps: tuple[str, ...] = (),
    settle: Callable[[list[Inspection]], None],
    trust: bool = False,
    geometry: Geometry | None = None,
    threads: int | None = None,
) -> list[Taken]:
    """Write ``<folder>/<step>.parquet`` for the `steps` of a source, by default for all its steps.

    The source is a column map (.yaml), or a pattern for files of tuning trees (.root). Trees do not contain
    the `polarity`, +1 MagUp or -1 MagDown, so it is required for them. Rows are inspected with the run's
    `field`, which also carries rows without Runge-Kutta, and compared with the planes of the run's
    `geometry`. `settle` receives the inspections of all steps before anything is written, and raises a
    ParkfError to prevent it. With `trust` everything is read, even if a fault is found early. At most some
    ten thousand rows are in memory at a time.
    """
    opened = _opened(source, polarity)
    if missing := [step for step in steps if step not in opened]:
        raise ParkfError(f"{source}: has nothing of step {missing[0]}; it has {', '.join(opened)}")
    folder.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder) as scratch:
        staged: dict[Path, Taken] = {}
        inspections = []
        for step in dict.fromkeys(steps or opened):
            path, carrier = Path(scratch) / f"{step}.parquet", Carrier(step, field, threads)
            staged[path], inspection = _stage(opened[step](), path, carrier, geometry, trust)
            inspections.append(inspection)
        settle(inspections)
        for path, taken in staged.items():
            try:
                check_dataset(path, taken.step)
            except ParkfError as error:
                raise ParkfError(str(error).replace(str(path), f"{source}: step {taken.step}")) from error
        for path, taken in staged.items():
            gather_rows([path], folder / f"{taken.step}.parquet", taken.step)
            path.unlink()
    return list(staged.values())


def _opened(source: str, polarity: int | None) -> dict[str, Callable[[], Iterator[Rows]]]:
    """Return a reader of each step's rows."""
    if _is_map(source):
        if polarity is not None:
            raise ParkfError(f"{source}: a column map says the polarity itself; leave it out")
        columns, beside = load_column_map(Path(source)), Path(source).parent
        return {step: partial(mapped_rows, columns, step, beside) for step in columns.steps}
    paths = matching(source)
    if other := [path for path in paths if path.suffix != ".root"]:
        raise ParkfError(f"{other[0]}: expected a column map (.yaml) or files of tuning trees (.root)")
    if polarity is None:
        raise ParkfError(f"{source}: tuning trees do not say the polarity; say --polarity up or down")
    return {step: partial(tuning_rows, paths, step, polarity) for step in TREES}


def steps_of(source: str) -> tuple[str, ...]:
    """Names of the steps of a source of :func:`import_steps`."""
    return tuple(load_column_map(Path(source)).steps) if _is_map(source) else tuple(TREES)


def files_of(source: str, step: str) -> list[Path]:
    """Files that a step is read from, the column map among them."""
    if not _is_map(source):
        return matching(source)
    columns, beside = load_column_map(Path(source)), Path(source).parent
    return [Path(source), *(path for one in columns.steps[step] for path in matching(one.files, beside))]


def _is_map(source: str) -> bool:
    return Path(source).suffix in (".yaml", ".yml")


def _stage(
    pieces: Iterator[Rows], path: Path, carrier: Carrier, geometry: Geometry | None, trust: bool
) -> tuple[Taken, Inspection]:
    """Write a step's rows as they come, and inspect a sample of them."""
    step = carrier.step
    seen, count, lost, begun = Reservoir(), 0, 0, False
    with STEP_DATA.writer(path) as writer:
        by_set = RowsBySet(writer, step)
        for rows in _joined(pieces):
            seen.add(rows)
            if not begun and seen.full:
                # Faults in the first thousand rows are reported before the other hundred million are read.
                begun = True
                early = inspect_step(seen.rows, carrier, geometry)
                if early.verdict == "wrong" and not trust:
                    return Taken(step, 0, 0), early
            if "xe" not in rows:
                rows, gone = with_target(rows, carrier.field, carrier.threads)
                lost += gone
            by_set.add({name: _cast(rows[name], name, kind) for name, kind in STEP_DATA.columns})
            count += len(rows["qop"])
        by_set.finish()
    return Taken(step, count, lost), inspect_step(seen.rows, carrier, geometry)


def _cast(values: np.ndarray, name: str, kind: pa.DataType) -> np.ndarray:
    target = np.dtype(kind.to_pandas_dtype())
    if issubclass(target.type, np.integer) and len(values):
        bounds = np.iinfo(target.type)
        if not (bounds.min <= values.min() and values.max() <= bounds.max):
            raise ParkfError(f"column '{name}' holds {values.max():.0f}, more than {bounds.max}")
    return values.astype(target)


def _joined(pieces: Iterator[Rows]) -> Iterator[Rows]:
    """Join small pieces: thousands of files have a few rows each."""
    waiting: list[Rows] = []
    count = 0
    for piece in pieces:
        waiting.append(piece)
        count += len(piece["qop"])
        if count >= ROWS // 2:
            yield concatenate(waiting)
            waiting, count = [], 0
    if count:
        yield concatenate(waiting)
