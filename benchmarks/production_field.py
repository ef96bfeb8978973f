"""The shipped fields, LHCb's own magnet polynomial and a run's table, on LHCb's tracks through its own map.

Run: python -m benchmarks.production_field [DATA] [RUN ...] [--json FILE] [--plot FILE]

DATA is a folder with `tracks.npz` and `axis.npz`: tracks of 2 to 100 GeV that were carried from z = 2665 to
7826 mm by Runge-Kutta through the map that LHCb's trigger loads (MagDown), where the numbers in production
put the first 3,974 of them, and the field on the axis. `fields`: the same tracks through each shipped field.
`tables`: |dx| at 7826 mm, of production's polynomial against the map, and of a run's table against
Runge-Kutta in the run's field, from the same start states. It is the table that was trained on rays: closing
it moves it on purpose, by what material does to tracks.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from benchmarks.command import parser, write
from numpy.typing import NDArray

from parkf.detector.dipole import DipoleSources
from parkf.detector.field import FieldMap, evaluate_on_grid, load_field
from parkf.detector.transport import propagate
from parkf.io.project import PROJECT
from parkf.training.magnet_table.table import load_table

F64 = NDArray[np.float64]

DATA = PROJECT / "../shared/data/lhcb_production_field"
FIELDS = ("dipole", "lhcb")
Z_IN, Z_OUT = 2665.0, 7826.0  # mm
EDGES = (2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
HIGHEST_SLOPE = 0.15  # of ty: beyond, LHCb's map is not smooth


def shipped(name: str) -> FieldMap:
    """Return a field of this project on its grid."""
    return evaluate_on_grid(DipoleSources.load(PROJECT / f"data/field/{name}.json"))


def carried(field: FieldMap, tracks: dict[str, F64]) -> F64:
    """Carry the start states through a field by Runge-Kutta: (n, 4), mm; NaN outside the map."""
    states = np.column_stack([tracks["start"], 1e-3 * tracks["q_over_p"]])
    ends = propagate(field, -1, states, Z_IN, (Z_OUT, 0.0, 0.0), tolerance=1e-4)
    return np.asarray(ends.states[:, :4])


def field_figures(field: FieldMap, tracks: dict[str, F64], axis: dict[str, F64]) -> dict[str, float]:
    """Compare a field with LHCb's: relative bend, |dx| p, and By on the axis where both are known."""
    off = carried(field, tracks) - tracks["end"]
    bend = np.abs(off[:, 2] / (tracks["end"][:, 2] - tracks["start"][:, 2]))
    shift = np.abs(off[:, 0] / tracks["q_over_p"])
    smooth = np.abs(tracks["start"][:, 3]) < HIGHEST_SLOPE
    z = axis["z"][axis["z"] <= field.upper[2]]
    by = field.at(np.column_stack([0.0 * z, 0.0 * z, z]))[:, 1] - axis["By"][: len(z)]
    return {
        "bend_68": float(np.nanquantile(bend, 0.68)),
        "bend_68_smooth": float(np.nanquantile(bend[smooth], 0.68)),
        "bend_95_smooth": float(np.nanquantile(bend[smooth], 0.95)),
        "dx_p_median": float(np.nanmedian(shift)),
        "axis_rms": float(by.std()),
        "axis_largest": float(np.abs(by).max()),
    }


def by_momentum(dx: F64, p: F64) -> list[dict[str, float]]:
    """Quantiles of |dx| and its mean (mm) in bins of p (GeV)."""
    result = []
    for low, high in pairwise(EDGES):
        own = dx[(p >= low) & (p < high) & np.isfinite(dx)]
        q68, q95, q99 = np.quantile(np.abs(own), (0.68, 0.95, 0.99))
        row = {"low": low, "high": high, "tracks": len(own), "q68": q68, "q95": q95, "q99": q99}
        result.append({**row, "mean": own.mean(), "error": own.std() / np.sqrt(len(own))})
    return [{name: float(value) for name, value in row.items()} for row in result]


def measure(data: Path, runs: list[Path]) -> dict[str, Any]:
    """Return all figures."""
    tracks, axis = ({**np.load(data / f"{name}.npz")} for name in ("tracks", "axis"))
    shown = {name: field_figures(shipped(name), tracks, axis) for name in FIELDS}
    known = np.isfinite(tracks["production"]).all(axis=1)
    own = {name: tracks[name][known] for name in ("start", "end", "q_over_p", "production")}
    p, down = 1.0 / np.abs(own["q_over_p"]), np.full(int(known.sum()), -1.0)
    tables = {"LHCb's production": by_momentum(own["production"][:, 0] - own["end"][:, 0], p)}
    for run in runs:
        truth = carried(load_field(run / "field.npz"), own)
        ends = load_table(run / "table/table.npz").extrapolate(own["start"], 1e-3 * own["q_over_p"], down)
        tables[run.name] = by_momentum(ends[:, 0] - truth[:, 0], p)
    return {"fields": shown, "tables": tables}


def fields_table(figures: dict[str, Any]) -> str:
    """Write the comparison of fields as Markdown."""
    slopes = f"\\|ty\\| < {HIGHEST_SLOPE:g}"
    lines = [
        f"| field | 68 % of the relative bend, 10⁻⁴ | the same, {slopes} | 95 %, {slopes} |"
        " median \\|dx\\|·p, mm GeV | By on the axis: rms, largest, mT |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, row in figures["fields"].items():
        bends = [f"{1e4 * row[key]:.1f}" for key in ("bend_68", "bend_68_smooth", "bend_95_smooth")]
        axis = f"{1e3 * row['axis_rms']:.1f}, {1e3 * row['axis_largest']:.1f}"
        lines.append(f"| {name} | {' | '.join(bends)} | {row['dx_p_median']:.2f} | {axis} |")
    return "\n".join(lines)


def table(figures: dict[str, Any]) -> str:
    """Write |dx| of the tables as Markdown."""
    what = ": 68, 95, 99 % of \\|dx\\|; mean, µm"
    lines = [
        "| p, GeV | tracks | " + "".join(f"{name}{what} | " for name in figures["tables"]).rstrip(),
        "|---|--:|" + "--:|" * len(figures["tables"]),
    ]
    for rows in zip(*figures["tables"].values(), strict=True):
        cells = [f"{rows[0]['low']:g}–{rows[0]['high']:g}", f"{rows[0]['tracks']:.0f}"]
        for row in rows:
            quantiles = ", ".join(f"{1e3 * row[name]:.3g}" for name in ("q68", "q95", "q99"))
            cells.append(f"{quantiles}; {1e3 * row['mean']:+.1f} ± {1e3 * row['error']:.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(figures: dict[str, Any], path: Path) -> None:
    """Draw 68 and 99 % of |dx| of each table by momentum."""
    plot, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for number, (name, rows) in enumerate(figures["tables"].items()):
        middle = [np.sqrt(row["low"] * row["high"]) for row in rows]
        for quantile, style in (("q68", "o-"), ("q99", "s--")):
            label = f"{name}, {quantile[1:]} %"
            axes.plot(middle, [1e3 * row[quantile] for row in rows], style, color=f"C{number}", label=label)
    axes.set(xscale="log", yscale="log", xlabel="p / GeV", ylabel="|dx| behind the magnet / µm")
    axes.set_xticks(EDGES, [f"{edge:g}" for edge in EDGES])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    plot.savefig(path, dpi=120)


def main() -> None:
    """Print both tables."""
    found = parser(__doc__, data=DATA)
    found.add_argument("runs", nargs="*", type=Path, default=[Path("results/default")])
    found.add_argument("--plot", type=Path, help="draw |dx| by momentum here")
    arguments = found.parse_args()
    figures = measure(arguments.data, arguments.runs)
    print(fields_table(figures), table(figures), sep="\n\n")
    write(arguments.json, figures)
    if arguments.plot is not None:
        draw(figures, arguments.plot)


if __name__ == "__main__":
    main()
