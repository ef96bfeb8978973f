"""Bias and pulls of tracks by what they crossed and where they were born.

Run: python -m benchmarks.displaced [RUN] [--json FILE]

The sample is genuine validation tracks above 2 GeV of a run. They are fitted in single precision with the
run's set.

- `bias`: mean of the core of δp/p, with its error.
- `full`: the same of the run's full fit.
- `tx`, `ty`: widths of the cores of pulls, with errors. Origin `vertex`: all are fitted as tracks that come
  from a collision. `told`: tracks that are born behind the foil around the beam are fitted as such. The true
  state at the particle's origin is carried through the field to the z of the fitted state. A straight line
  would not do: between an origin at z = 500 mm and the beam, tx of a soft track changes by one σ.
"""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.command import parser, write

from parkf.detector.field import FieldMap
from parkf.detector.geometry import load_geometry
from parkf.fit import fit_file
from parkf.fit.sample import load_sample, momentum_residual, pulls
from parkf.fit.truth import Files
from parkf.io.files import scratch_folder
from parkf.io.option_types import Origin
from parkf.io.project import PROJECT
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core
from parkf.proof.validation.figures import ENOUGH, binned, displacement

ORIGINS: tuple[Origin, ...] = ("vertex", "first-hit")


VARIABLES: dict[str, tuple[Callable[[Rows], np.ndarray], tuple[float, ...]]] = {
    "VELO hits": (lambda rows: rows["velo_n"], (3, 4, 5, 6, 8, 10, 12, 14, 16, 27)),
    "origin z, mm": (lambda rows: rows["true_z"], (-300, -100, 0, 100, 200, 300, 600, 800)),
    "impact parameter, mm": (displacement, (0, 0.1, 0.5, 1, 3, 10, 30)),
}


def measured(run: Path, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Fit the run's validation sample for each origin, and measure it in bins of each variable."""
    field = FieldMap.load(run / "field.npz")
    foil = load_geometry(PROJECT / "data/geometry/run3.yaml").description.tubes[0].radius
    samples = [path.stem for path in sorted(run.glob("candidates/validation_*.parquet"))]

    def loaded(fitted: Callable[[str], Path]) -> Rows:
        return load_sample(
            [
                Files(run / f"particles/{one}.parquet", run / f"candidates/{one}.parquet", fitted(one))
                for one in samples
            ],
            field,
        ).good

    for origin, sample in product(ORIGINS, samples):
        candidates, fitted = run / f"candidates/{sample}.parquet", folder / f"{origin}-{sample}.parquet"
        fit_file(run / "set", candidates, fitted, origin=origin)
    vertex, first_hit = (
        loaded(lambda sample, origin=origin: folder / f"{origin}-{sample}.parquet") for origin in ORIGINS
    )
    full = loaded(lambda sample: run / f"fitted/full/{sample}.parquet")
    behind = np.asarray(vertex["born"]) > foil
    all_pulls: dict[str, dict[str, np.ndarray]] = {}
    for component in ("tx", "ty"):
        as_vertex, as_first_hit = (pulls(one, component, finite_only=False) for one in (vertex, first_hit))
        all_pulls[component] = {"vertex": as_vertex, "told": np.where(behind, as_first_hit, as_vertex)}
    found: dict[str, list[dict[str, Any]]] = {}
    for variable, (of, edges) in VARIABLES.items():
        found[variable] = []
        for low, high, inside in binned(of(vertex), edges, ENOUGH):
            of_full = of(full)
            one: dict[str, Any] = {"low": low, "high": high, "n": int(inside.sum())}
            one["behind"] = float(behind[inside].mean())
            one |= fit_core(momentum_residual(vertex[inside])).mean_as("bias")
            one["full"] = fit_core(momentum_residual(full[(of_full >= low) & (of_full < high)])).mean_as(
                "bias"
            )
            for component, by_origin in all_pulls.items():
                one[component] = {
                    origin: fit_core(values[inside & np.isfinite(values)]).width_as("width")
                    for origin, values in by_origin.items()
                }
            found[variable].append(one)
    return found


def table(bins: dict[str, list[dict[str, Any]]]) -> str:
    """Write the figures as a table for a page."""
    lines = [
        "| | bias of δp/p | of the full fit | tx pull, told | ty pull | ty pull, told |",
        "|---|---|---|---|---|---|",
    ]
    for variable, of_variable in bins.items():
        for one in of_variable:
            bias = [f"{100 * of['bias']:+.3f} ± {100 * of['bias_error']:.3f} %" for of in (one, one["full"])]
            widths = [
                f"{width['width']:.2f} ± {width['width_error']:.2f}"
                for width in (one["tx"]["told"], one["ty"]["vertex"], one["ty"]["told"])
            ]
            what = f"{variable} {one['low']:g} to {one['high']:g}"
            lines.append(f"| {' | '.join([what, *bias, *widths])} |")
    return "\n".join(lines)


def main() -> None:
    """Print the figures, and write them as JSON if asked."""
    given = parser(__doc__, run="results/improved").parse_args()
    with scratch_folder() as name:
        found = measured(given.run, Path(name))
    print(f"{'':24}{'n':>7}  bias, %: fit; full fit{'':14}pulls of tx; ty: vertex, told")
    for variable, bins in found.items():
        print(variable)
        for one in bins:
            bias = [f"{100 * of['bias']:+.4f} ± {100 * of['bias_error']:.4f}" for of in (one, one["full"])]
            widths = [
                f"{of['vertex']['width']:.3f}, {of['told']['width']:.3f} ± {of['told']['width_error']:.3f}"
                for of in (one["tx"], one["ty"])
            ]
            edges = f"  {one['low']:>8g} to {one['high']:<8g}{one['n']:>9}"
            print(f"{edges}  {'; '.join(bias)}   {'; '.join(widths)}")
    write(given.json, {"run": given.run.name, "bins": found})


if __name__ == "__main__":
    main()
