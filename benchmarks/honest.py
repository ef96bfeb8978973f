"""How often doors name rows of honest samples: step datasets and candidates of finished runs.

Run: python -m benchmarks.honest RUN [RUN …] [--json FILE]

From each step dataset of each run, samples of 200 to 300,000 rows are taken, of either polarity or of both,
with numbers as they are or rounded to float32, as tuples of other programs are. They are asked as an import
asks them, with the run's field. Candidates of all samples of a run are fitted with the run's set.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.command import parser, write

from parkf.detector.field import FieldMap, load_field
from parkf.fit import fit_file
from parkf.io.arrow import numbers, table
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, select
from parkf.io.files import scratch_folder
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.checks import left_out_rows
from parkf.training.datasets.left_out import LeftOut
from parkf.training.datasets.legs import SETS

SIZES = (200, 5_000, 300_000)
SAMPLES = {"up": (1.0,), "down": (-1.0,), "both": (1.0, -1.0)}

Figures = dict[str, Any]


def read(path: Path) -> Columns:
    """Return all rows of a step dataset."""
    with STEP_DATA.open(path) as file:
        rows = file.read()
    return {name: numbers(rows.column(name)) for name, _ in STEP_DATA.fields}


def samples(rows: Columns) -> Iterator[tuple[str, Columns]]:
    """Yield what a sample is, and its rows: sizes go with polarities, and roundings with both in turn."""
    for number, (size, name) in enumerate(product(SIZES, SAMPLES)):
        own = np.flatnonzero(np.isin(rows["polarity"], SAMPLES[name]))
        if not len(own):
            continue
        chosen = select(rows, own[np.unique(np.linspace(0, len(own) - 1, size).astype(int))])
        if number % 2:
            floats = {one for one, kind in STEP_DATA.fields if kind.kind == "f"}
            chosen = {
                one: values.astype(np.float32).astype(np.float64) if one in floats else values
                for one, values in chosen.items()
            }
        yield f"{size} rows, {name}, {'float32' if number % 2 else 'float64'}", chosen


def asked(rows: Columns, step: str, field: FieldMap, folder: Path) -> LeftOut:
    """Ask the rows of a sample."""
    path = folder / f"{step}.parquet"
    typed = {name: rows[name].astype(kind) for name, kind in STEP_DATA.fields}
    with STEP_DATA.writer(path) as writer:
        writer.write_table(table(typed, STEP_DATA.schema))
    left = LeftOut("sample", step)
    left_out_rows(path, step, left, field=field)
    return left


def measure(run: Path, folder: Path) -> list[Figures]:
    """Ask all samples of a run."""
    field, found = load_field(run / "field.npz"), []
    for step in SETS:
        for what, rows in samples(read(run / f"datasets/{step}.parquet")):
            left = asked(rows, step, field, folder)
            one = {"run": run.name, "what": f"{step}, {what}", "rows": left.rows, "named": left.count}
            found.append(one | {"refused": left.too_many, "why": [str(why) for why in left.findings()]})
            print(*one.values(), *found[-1]["why"], flush=True)
    for path in sorted(run.glob("candidates/*.parquet")):
        one = {"run": run.name, "what": f"candidates {path.stem}"}
        try:
            fitted = fit_file(run / "set", path, folder / "fitted.parquet")
            odd = [note for note in fitted.notes if note.startswith("doubtful")]
            found.append(one | {"rows": fitted.count, "named": 0, "refused": False, "why": odd})
        except ParkfError as error:
            found.append(one | {"rows": 0, "named": 0, "refused": True, "why": [str(error)]})
        print(*found[-1].values(), flush=True)
    return found


def main() -> None:
    """Measure runs, and print sums."""
    arguments = parser(__doc__)
    arguments.add_argument("runs", nargs="+", type=Path)
    given = arguments.parse_args()
    with scratch_folder() as folder:
        found = [one for run in given.runs for one in measure(run, Path(folder))]
    sums = {name: sum(one[name] for one in found) for name in ("rows", "named", "refused")}
    print(len(found), "samples", sums)
    write(given.json, {"samples": len(found), **sums, "of": found})


if __name__ == "__main__":
    main()
