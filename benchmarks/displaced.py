"""Bias and pulls of tracks by what they crossed and where they were born.

Run: python -m benchmarks.displaced [RUN] [--json FILE]

The sample is genuine validation tracks above 2 GeV of a run. They are fitted in single precision with the
run's set: as tracks that come from a collision (`vertex`), and as tracks that are born at their first hit
(`first hit`). `full` is the run's full fit of the same tracks.

- `bias`: mean of the core of δp/p, with its error.
- `pulls`: widths of the cores of the pulls of tx and ty, with errors.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from parkf.fit import fit_file
from parkf.fit.sample import load_sample
from parkf.fit.truth import Files
from parkf.io.files import scratch_folder
from parkf.io.option_types import Origin
from parkf.io.track_columns import Rows
from parkf.proof.validation.figures import ENOUGH, binned, momentum_figures, pull_figures

ORIGINS: dict[str, Origin] = {"vertex": "vertex", "first hit": "first-hit"}


def impact_parameter(rows: Rows) -> np.ndarray:
    """Return the distance (n,) in mm at which the true straight line passes the z axis."""
    tx, ty = rows["true_tx"], rows["true_ty"]
    return np.abs(rows["true_x"] * ty - rows["true_y"] * tx) / np.hypot(tx, ty)


VARIABLES: dict[str, tuple[Callable[[Rows], np.ndarray], tuple[float, ...]]] = {
    "VELO hits": (lambda rows: rows["velo_n"], (3, 4, 5, 6, 8, 10, 12, 14, 16, 27)),
    "origin z, mm": (lambda rows: rows["true_z"], (-300, -100, 0, 100, 200, 300, 600, 800)),
    "impact parameter, mm": (impact_parameter, (0, 0.1, 0.5, 1, 3, 10, 30)),
}


def measured(run: Path, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Fit the run's validation sample for each origin, and measure it in bins of each variable."""
    samples = [path.stem for path in sorted(run.glob("candidates/validation_*.parquet"))]
    candidates = {name: run / f"candidates/{name}.parquet" for name in samples}
    for name, origin in ORIGINS.items():
        for sample, path in candidates.items():
            fit_file(run / "set", path, folder / f"{name}-{sample}.parquet", origin=origin)
    fits = {name: [folder / f"{name}-{sample}.parquet" for sample in samples] for name in ORIGINS}
    fits["full"] = [run / f"fitted/full/{sample}.parquet" for sample in samples]
    rows = {
        name: load_sample(
            [
                Files([run / f"particles/{sample}.parquet"], [candidates[sample]], [path])
                for sample, path in zip(samples, paths, strict=True)
            ]
        ).good
        for name, paths in fits.items()
    }
    found: dict[str, list[dict[str, Any]]] = {}
    for variable, (of, edges) in VARIABLES.items():
        found[variable] = []
        for low, high, inside in binned(of(rows["vertex"]), edges, ENOUGH):
            one: dict[str, Any] = {"low": low, "high": high, "n": int(inside.sum())}
            for name in fits:
                here = rows[name][inside if name in ORIGINS else in_bin(of(rows[name]), low, high)]
                one[name] = {k: v for k, v in momentum_figures(here).items() if k.startswith("bias")}
                for component in ("tx", "ty"):
                    one[name] |= {
                        f"{component}_{k}": v
                        for k, v in pull_figures(here, component).items()
                        if k in ("width", "width_error")
                    }
            found[variable].append(one)
    return found


def in_bin(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return which values (n,) are in a bin."""
    return (values >= low) & (values < high)


def main() -> None:
    """Print the figures, and write them as JSON if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", nargs="?", type=Path, default=Path("results/improved"))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with scratch_folder() as name:
        found = measured(given.run, Path(name))
    print(f"{'':24}{'n':>7}  bias, %: fit; full fit{'':14}pulls of tx, ty: vertex; first hit")
    for variable, bins in found.items():
        print(variable)
        for one in bins:
            bias = [
                "{:+.4f} ± {:.4f}".format(*(100 * one[f][k] for k in ("bias", "bias_error")))
                for f in ("vertex", "full")
            ]
            pulls = [
                f"{one[f]['tx_width']:.3f}, {one[f]['ty_width']:.3f} ± {one[f]['ty_width_error']:.3f}"
                for f in ORIGINS
            ]
            edges = f"  {one['low']:>8g} to {one['high']:<8g}{one['n']:>9}"
            print(f"{edges}  {'; '.join(bias)}   {'; '.join(pulls)}")
    if given.json:
        given.json.write_text(json.dumps({"run": given.run.name, "bins": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
