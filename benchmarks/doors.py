"""What one wrong number in a step dataset does: whether it is named, and if not, how far parameters move.

Run: python -m benchmarks.doors [RUN] [--steps V,T] [--seeds 3] [--json FILE]

Of each step of a run, 26,400 rows are taken, as many of each set. In every column, one row gets each of 20
wrong numbers (`BAD`). The rows are asked as `parkf import steps` and runs ask them, and as `parkf
check-dataset` does without a field. Where a row is not named, its set is trained with it, with production's
formulas. The largest move of a parameter is in units of its error, for p and for p̃ apart. Beside it is what
another honest row in the place of an honest one moves.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.command import parser, write
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from parkf.detector.field import FieldMap, load_field
from parkf.io.arrow import table
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, concatenate, select
from parkf.io.files import scratch_folder
from parkf.io.tables import STEP_DATA
from parkf.io.workers import parallel_map
from parkf.model.steps import FORMS
from parkf.training.datasets.checks import Door, sample_of
from parkf.training.datasets.left_out import LeftOut
from parkf.training.datasets.legs import SETS
from parkf.training.magnet_table import MagnetTable, load_table
from parkf.training.result import SetResult
from parkf.training.rows import StoredRows, group_of_particle, read_batches
from parkf.training.train import train_sets

ROWS = 26_400
LARGEST = 0.1  # errors by which an unnamed row may move a parameter
REFUSED = 1e6  # errors, where the training refuses the rows
WORKERS = 2
HONEST = 20  # rows that another honest row replaces, to compare with
UNREAD = ("pdg_id", "charge", "event", "particle")

Figures = dict[str, Any]
Bad = Callable[[float, float], float]
_MOST = float(np.finfo(np.float64).max)
BAD: dict[str, Bad] = {
    **{f"{value:g}": lambda _, __, value=value: value for value in (0.0, 1.0, -1.0, 999.0, -999.0, -9999.0)},
    **{f"{value:g}": lambda _, __, value=value: value for value in (-9990.0, 99999.0, 1e-300, 1e30, -1e30)},
    "-max": lambda _, __: -_MOST,
    "NaN": lambda _, __: float("nan"),
    "inf": lambda _, __: float("inf"),
    **{f"{factor:g} x": lambda own, _, factor=factor: factor * own for factor in (10, 0.1, 1000, 0.001, -1)},
    "the next row's": lambda _, other: other,
}
"""Wrong numbers, from a row's own one and that of the next row of its set."""


def thinned(path: Path, step: str, most: int = ROWS) -> Columns:
    """Return rows of a step dataset, as many of each set, evenly spaced."""
    batches = list(read_batches(path))
    rows = concatenate(batches)
    rows["charge"] = np.sign(rows["qop"])
    rows["pdg_id"] = 211.0 * rows["charge"]
    of_set = [np.flatnonzero(rows["set"] == number) for number in range(SETS[step])]
    each = most // SETS[step]
    chosen = [own[np.linspace(0, len(own) - 1, each).astype(int)] for own in of_set]
    return select(rows, np.unique(np.concatenate(chosen)))


def with_bad(rows: Columns, seeds: range) -> tuple[list[tuple[str, str]], Columns, NDArray[np.int64]]:
    """Return column and name of each bad number, rows that have one each, and the numbers of these rows."""
    own = {name: np.asarray(values, np.float64) for name, values in rows.items()}
    cells, at, values = [], [], []
    for random in map(np.random.default_rng, seeds):
        for column, _ in STEP_DATA.fields:
            for name, bad in BAD.items():
                row = int(random.integers(len(own["set"]) - 1))
                value = bad(own[column][row], own[column][row + 1])
                if value != own[column][row]:
                    cells.append((column, name))
                    at.append(row)
                    values.append(value)
    found = select(own, np.array(at))
    for number, ((column, _), value) in enumerate(zip(cells, values, strict=True)):
        found[column][number] = value
    return cells, found, np.array(at)


def named(rows: Columns, bad: Columns, step: str, field: FieldMap | None) -> NDArray[np.bool_]:
    """Return which bad rows a door names that has seen the honest ones, (n,)."""
    with scratch_folder() as folder:
        path = Path(folder) / f"{step}.parquet"
        typed = {name: rows[name].astype(kind) for name, kind in STEP_DATA.fields}
        with STEP_DATA.writer(path) as writer:
            writer.write_table(table(typed, STEP_DATA.schema))
        door = Door(step, LeftOut("bad"), sample_of(path), field)
    found = door.broken(bad)
    left = np.flatnonzero(~found)
    found[left] = door.unlike(select(bad, left), left)
    return found


def trained(rows: Columns, step: str, number: int, table: MagnetTable | None) -> SetResult:
    """Train one set of a step on its rows."""
    own = select(rows, rows["set"] == number)
    with scratch_folder() as folder:
        stored = StoredRows(Path(folder) / "rows")
        stored.append({**own, "group": group_of_particle(own)})
        numbers = range(number, number + 1)
        return train_sets([stored], FORMS["production"].steps[step], numbers, table=table)[0]


def moves(honest: SetResult, other: SetResult) -> tuple[float, float]:
    """Return the largest move of p and of p̃, in errors."""
    found = {"extrapolation": 0.0, "noise": 0.0}
    for one, two in zip(honest.minima, other.minima, strict=True):
        for name, a, error, b in zip(one.names, one.values, one.errors, two.values, strict=True):
            if name.startswith("p") and error > 0:
                found[one.kind] = max(found[one.kind], abs(b - a) / error)
    return found["extrapolation"], found["noise"]


def measure(step: str, rows: Columns, field: FieldMap, seeds: range, table: MagnetTable | None) -> Figures:
    """Ask rows with one bad number each, and train with those that are not named."""
    cells, bad, at = with_bad(rows, seeds)
    seen, alone = (named(rows, bad, step, one) for one in (field, None))
    bases = list(parallel_map(partial(trained, rows, step, table=table), range(SETS[step]), WORKERS))
    random = np.random.default_rng(58)
    honest = [(int(row), int(row) - 1) for row in random.integers(1, len(rows["set"]), HONEST)]

    def moved(row: int, new: Columns, other: int) -> tuple[float, float]:
        changed = {name: values.copy() for name, values in rows.items()}
        for name, values in changed.items():
            values[row] = new[name][other]
        number = int(rows["set"][row])
        try:
            return moves(bases[number], trained(changed, step, number, table))
        except ParkfError:
            return REFUSED, REFUSED

    # What no fit reads moves nothing; numbers of events and particles enter errors alone.
    open_ = [i for i in np.flatnonzero(~seen) if cells[i][0] not in UNREAD]
    found = list(parallel_map(lambda i: moved(int(at[i]), bad, i), open_, WORKERS))
    usual = list(parallel_map(lambda pair: moved(pair[0], rows, pair[1]), honest, WORKERS))
    far = [(*cells[i], *both) for i, both in zip(open_, found, strict=True) if max(both) > LARGEST]
    return {
        "cells": len(cells),
        "named": int(seen.sum()),
        "named without a field": int(alone.sum()),
        "not read by fits": int((~seen).sum()) - len(open_),
        "trained": len(open_),
        "largest move of p": max((p for p, _ in found), default=0.0),
        "largest move of p̃": max((noise for _, noise in found), default=0.0),
        "another honest row, p": max(p for p, _ in usual),
        "another honest row, p̃": max(noise for _, noise in usual),
        "beyond": [[column, name, round(p, 3), round(noise, 3)] for column, name, p, noise in far],
    }


def main() -> None:
    """Measure all steps of a run."""
    arguments = parser(__doc__, run="results/default")
    arguments.add_argument("--steps", default=",".join(SETS))
    arguments.add_argument("--seeds", type=int, default=1, help="times that each number is tried")
    given = arguments.parse_args()
    field, magnet = load_field(given.run / "field.npz"), load_table(given.run / "table/table.npz")
    found = {}
    with threadpool_limits(1):
        for step in given.steps.split(","):
            rows = thinned(given.run / f"datasets/{step}.parquet", step)
            of = magnet if step == "UTTF" else None
            found[step] = measure(step, rows, field, range(given.seeds), of)
            print(step, found[step], flush=True)
    write(given.json, found)


if __name__ == "__main__":
    main()
