"""States inside the magnet: how far from Runge-Kutta, how well their errors are known, and how fast.

Run: python -m benchmarks.slices [RUN] [--json FILE]

The first table has quantiles of |δx| over the scattering on the way, of tracks that are carried upstream
from the first SciFi layer. `pulls`: widths of (true − carried)/σ on particles that scatter. Times are per
track on one core, from 7826 to 2500 mm, each with state, covariance and Jacobian; Runge-Kutta's are those of
the state alone, and of state and Jacobian.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from benchmarks.command import parser, write

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.fit.inside import ELEMENTS, carry_inside
from parkf.io.files import read_json
from parkf.params.slices import MagnetSlices, load_slices

REPEATS = 7
TRACKS = {"slices": 1 << 16, "runge_kutta": 1 << 12, "runge_kutta_jacobian": 1 << 9}
FROM, TO = 7826.0, 2500.0  # mm
TOLERANCE = 1e-3  # mm, of a Runge-Kutta step: that of the simulation


def timed(run: Callable[[], object], tracks: int) -> float:
    """Return the nanoseconds a track takes: the median of several repeats."""
    spent = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        run()
        spent.append(time.perf_counter() - begin)
    return 1e9 * median(spent) / tracks


def times(slices: MagnetSlices, field: FieldMap) -> dict[str, float]:
    """Time both ways of carrying the same tracks."""
    random = np.random.default_rng(1)
    count = max(TRACKS.values())
    slopes = random.uniform([-0.2, -0.15], [0.2, 0.15], (count, 2))
    qop = random.choice([-1, 1], count) / random.uniform(3e3, 5e4, count)
    states = np.column_stack([FROM * slopes, slopes + [1200.0, 0.0] * qop[:, None], qop])
    result = {}
    for precision in (np.float32, np.float64):
        start = states[: TRACKS["slices"]].astype(precision)
        covariances = np.zeros((len(start), ELEMENTS), precision)

        def ours(start: Any = start, covariances: Any = covariances) -> object:
            return carry_inside(slices, start, FROM, TO, +1, covariances=covariances, threads=1)

        result[f"slices_{np.dtype(precision).name}"] = timed(ours, len(start))
    for name, jacobian in (("runge_kutta", False), ("runge_kutta_jacobian", True)):
        start = states[: TRACKS[name]]

        def reference(start: Any = start, jacobian: bool = jacobian) -> object:
            plane = (TO, 0.0, 0.0)
            return propagate(field, +1, start, FROM, plane, tolerance=TOLERANCE, jacobian=jacobian, threads=1)

        result[name] = timed(reference, len(start))
    return result


def table(figures: dict[str, Any]) -> str:
    """Return the quantiles over the scattering as a table in Markdown: a row for each momentum."""
    rows = [one for one in figures["states"] if one["component"] == "x"]
    targets = sorted({one["z"] for one in rows}, reverse=True)
    lines = ["| p [GeV] | " + " | ".join(f"z = {z / 1000:g} m" for z in targets) + " |"]
    lines.append("|---" * (len(targets) + 1) + "|")
    for low, high in sorted({(one["p_min"], one["p_max"]) for one in rows}):
        cells = []
        for z in targets:
            one = next(one for one in rows if one["z"] == z and one["p_min"] == low)
            cells.append(f"{one['q68'] / one['sigma']:.3f}, {one['q99'] / one['sigma']:.2f}")
        lines.append(f"| {low:g}–{high:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    options = parser(__doc__, run="results/default").parse_args()
    figures = read_json(options.run / "slices/accuracy.json")
    print("68 % and 99 % of |δx| over the scattering:", table(figures), sep="\n")
    widths = [one["width"] for one in figures["pulls"] if one["p_min"] >= 3]
    print(f"widths of the pulls of x, y, tx, ty from 3 GeV: {min(widths):.3f} to {max(widths):.3f}")
    spent = times(load_slices(options.run / "slices/slices.npz"), FieldMap.load(options.run / "field.npz"))
    for name, one in spent.items():
        print(f"{name:22} {one:9.0f} ns a track, {one / spent['slices_float32']:6.1f} times slices_float32")
    write(options.json, {"run": str(options.run), "ns": spent, **figures})


if __name__ == "__main__":
    main()
