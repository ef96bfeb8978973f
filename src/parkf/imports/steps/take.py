"""Import of step datasets as a stream: staged, inspected, then written set by set."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from dataclasses import field as _field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.imports.columns import ROWS
from parkf.imports.steps.column_map import load_column_map, mapped_rows
from parkf.imports.steps.physics import inspect_step
from parkf.imports.steps.rows import Carrier, Reservoir, Seen
from parkf.imports.steps.tuning import TREES, tuning_rows
from parkf.io.errors import ParkfError
from parkf.io.events import concatenate, select
from parkf.io.files import matching, scratch_folder
from parkf.io.findings import Figure, Inspection
from parkf.training.datasets.carry import Rows, with_target
from parkf.training.datasets.checks import STAGED, Door, left_out_rows, require_rows
from parkf.training.datasets.gather import RowsBySet, gather_rows
from parkf.training.datasets.left_out import SHARE, LeftOut


@dataclass(frozen=True)
class Taken:
    """Numbers of rows of one step: written, lost because Runge-Kutta left the map, and left out as wrong."""

    step: str
    rows: int
    lost: int
    left_out: int = 0

    def __str__(self) -> str:
        left = f", {self.left_out} left out, see {self.step}.left_out.csv" if self.left_out else ""
        return f"{self.step}: {self.rows} rows, {self.lost} left the map{left}"


@dataclass
class _Staged:
    """Rows of a step in scratch, and what is known of them."""

    path: Path
    inspection: Inspection
    left: LeftOut
    lost: int = 0
    without: NDArray[np.int64] = _field(default_factory=lambda: np.empty(0, np.int64))
    counts: NDArray[np.int64] = _field(default_factory=lambda: np.empty(0, np.int64))


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
    share: float = SHARE,
) -> list[Taken]:
    """Write ``<folder>/<step>.parquet`` for the `steps` of a source, by default for all its steps.

    The source is a column map (.yaml), or a pattern for files of tuning trees (.root). Trees do not contain
    the `polarity`, +1 MagUp or -1 MagDown, so it is required for them. A sample of the rows is inspected with
    the run's `field`, which also carries rows without Runge-Kutta, and compared with the planes of the run's
    `geometry`. Then each row is asked, as in :mod:`parkf.training.datasets.checks`: rows that are wrong are
    left out, and written to ``<step>.left_out.csv``; above a `share` of them the step is wrong. `settle`
    receives the inspections of all steps before anything is written, and raises a ParkfError to prevent it.
    With `trust` everything is read, even if a fault is found early. At most some ten thousand rows are in
    memory at a time.
    """
    opened = _opened(source, polarity)
    if missing := [step for step in steps if step not in opened]:
        raise ParkfError(f"{source}: has nothing of step {missing[0]}; it has {', '.join(opened)}")
    folder.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder) as scratch:
        staged = []
        for step in dict.fromkeys(steps or opened):
            carrier = Carrier(step, field, threads)
            left = LeftOut(source, step, share)
            staged.append(
                _stage(opened[step], Path(scratch) / f"{step}.parquet", carrier, geometry, left, trust)
            )
        settle([one.inspection for one in staged])
        for one in staged:
            require_rows(f"{source}: step {one.left.step}", one.left.step, one.counts)
        taken = []
        for one in staged:
            step = one.left.step
            gather_rows([one.path], folder / f"{step}.parquet", step, without=one.without)
            one.path.unlink()
            one.left.write(folder / f"{step}.left_out.csv")
            taken.append(Taken(step, int(one.counts.sum()), one.lost, one.left.count))
    return taken


_Reader = Callable[[Seen], Iterator[Rows]]


def _opened(source: str, polarity: int | None) -> dict[str, _Reader]:
    """Return a reader of each step's rows."""
    if Path(source).suffix in (".yaml", ".yml"):
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


def _stage(
    reader: _Reader, path: Path, carrier: Carrier, geometry: Geometry | None, left: LeftOut, trust: bool
) -> _Staged:
    """Write a step's rows as they come, inspect a sample of them, and ask each row."""
    step, begun, seen, sample, lost = carrier.step, False, Seen(), Reservoir(), 0
    door = Door(step, left, None, None, seen.files)
    with STAGED.writer(path) as writer:
        by_set = RowsBySet(writer, step, STAGED)
        for rows in _joined(reader(seen)):
            sample.add(rows)
            if not begun and sample.full:
                # Faults in the first thousand rows are reported before the other hundred million are read.
                begun = True
                early = inspect_step(sample.rows, carrier, geometry)
                if early.verdict == "wrong" and not trust:
                    return _Staged(path, early, left)
            left.rows += len(rows["set"])
            rows = select(rows, ~door.broken(rows))
            if "xe" not in rows:
                rows, gone = with_target(rows, carrier.field, carrier.threads)
                lost += gone
            by_set.add({name: rows[name].astype(kind) for name, kind in STAGED.fields})
        by_set.finish()
    found = _Staged(path, inspect_step(sample.rows, carrier, geometry), left, lost)
    if found.inspection.verdict == "wrong" and not trust:
        # What is wrong with all rows explains why few are left.
        few = len(found.inspection.figures) == 0
        more = tuple(left.findings()) if few else ()
        found.inspection = replace(found.inspection, findings=more + found.inspection.findings)
        return found
    left.drops_repeats = seen.drops_repeats
    found.without, found.counts = left_out_rows(
        path, step, left, field=carrier.field, staged=seen.files, threads=carrier.threads
    )
    seen.count("rows that were there before", left.repeats)
    figures = tuple(Figure(f"left out: {what}", float(n)) for what, n in seen.counts.items())
    own = found.inspection
    found.inspection = replace(
        own, figures=own.figures + figures, findings=own.findings + tuple(left.findings())
    )
    return found


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
