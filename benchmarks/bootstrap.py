"""Errors that the training quotes for its parameters, over those of a bootstrap by events.

Run: python -m benchmarks.bootstrap [RUN] [--json FILE]

Rows of one event are not independent: they share particles, and the noise inherits the errors of the
extrapolation. A bootstrap knows all of this. It draws events of a step's dataset with repetition, trains the
step again, and takes the standard deviation of each parameter. With REFITS drawings each ratio has a
statistical error of 1 / √(2 · REFITS), which is 9 %; the parameters of a step are correlated.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from benchmarks.command import parser, write

from parkf.io.files import scratch_folder
from parkf.params.parameter_set import load
from parkf.training.train import train_step

REFITS = 60
# Events of each polarity: about as many rows for each step, so that a refit takes a second.
EVENTS = {"V": 60, "VUT": 300, "UT": 60, "T": 150}
ROWS = 1 << 16


def drawn(table: pa.Table, number: np.random.Generator) -> pa.Table:
    """Draw as many events as the table has, with repetition; each drawing is an event of its own."""
    event = 2 * table["event"].to_numpy().astype(np.int64) + (table["polarity"].to_numpy() > 0)
    order = np.argsort(event, kind="stable")
    start = np.unique(event[order], return_index=True)[1]
    rows = np.split(order, start[1:])
    taken = [rows[one] for one in number.integers(0, len(rows), len(rows))]
    row = np.concatenate(taken)
    name = np.repeat(np.arange(len(taken)), [len(one) for one in taken])
    # A dataset has its rows set by set, as the table has.
    again = np.argsort(row, kind="stable")
    field = table.schema.field("event")
    return (
        table.take(pa.array(row[again]))
        .set_column(table.schema.get_field_index("event"), field, pa.array(name[again]).cast(field.type))
        .replace_schema_metadata(table.schema.metadata)
    )


def ratios(run: Path, step: str, forms: str) -> dict[str, dict[str, Any]]:
    """Return, for the extrapolation and the noise of a step, quoted errors over those of the bootstrap."""
    table = pq.read_table(run / f"datasets/{step}.parquet")
    table = table.filter(pc.less(table["event"], EVENTS[step]))
    number, values = np.random.default_rng(2026), []
    with scratch_folder() as name:
        path = Path(name) / f"{step}.parquet"
        pq.write_table(table, path, row_group_size=ROWS)
        quoted = train_step(path, step, forms=forms)
        for _ in range(REFITS):
            pq.write_table(drawn(table, number), path, row_group_size=ROWS)
            values.append(train_step(path, step, forms=forms))
    found: dict[str, list[float]] = {"extrapolation": [], "noise": []}
    for which, one in enumerate(quoted.sets):
        for place, minimum in enumerate(one.minima):
            scatter = np.std([again.sets[which].minima[place].values for again in values], axis=0, ddof=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.asarray(minimum.errors) / scatter
            found[minimum.kind] += ratio[np.isfinite(ratio)].tolist()
    return {
        kind: {
            "parameters": len(all_),
            **dict(zip(("least", "median", "most"), np.quantile(all_, (0, 0.5, 1)), strict=True)),
        }
        for kind, all_ in found.items()
    }


def table(figures: dict[str, Any]) -> str:
    """Write the ratios as Markdown."""
    lines = ["| step | parameters of | number | least | median | most |", "|---|---|--:|--:|--:|--:|"]
    for step, kinds in figures.items():
        for kind, one in kinds.items():
            cells = (f"{one[name]:.2f}" for name in ("least", "median", "most"))
            lines.append(f"| {step} | {kind} | {one['parameters']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(run: Path) -> dict[str, Any]:
    """Print the ratios of all steps, and return them."""
    forms = load(run / "set").manifest.forms
    found = {step: ratios(run, step, forms) for step in EVENTS}
    print(table(found))
    return found


if __name__ == "__main__":
    options = parser(__doc__, run="results/default").parse_args()
    write(options.json, main(options.run))
