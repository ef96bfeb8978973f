"""How fits of a run's candidates change when tracks are treated robustly.

Run: python -m benchmarks.robust [RUN] [--json FILE]

The sample is the validation's ghosts and genuine tracks above 2 GeV, fitted in single precision on one core.

- `core`: width of the core of δp/p.
- `width95`: half of the width that holds 95 % of |δp/p|.
- `beyond5`: fraction of tracks beyond five core widths.
- `ghosts`: fraction of ghosts below the χ²/ndof that keeps 91 % of genuine tracks.
- `ghosts_before`: the same with the χ² of all hits.
- `speed`: relative to the plain fit; the median of seven repeats.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.command import parser, write
from benchmarks.pull_bound import Truth, with_truth

from parkf.fit import Fitted, fit, is_good
from parkf.fit.sample import chi2_per_ndof
from parkf.params.parameter_set import ParameterSet, load
from parkf.proof.validation.core import fit_core

WORKING_POINT = 0.91
TURNS = 7
Way = Callable[[Truth], tuple[Fitted, np.ndarray]]


def ways(parameters: ParameterSet) -> dict[str, Way]:
    """Ways to fit a sample, by name; each returns the fits and a mask of the candidates that it treated."""

    def plain(one: Truth) -> tuple[Fitted, np.ndarray]:
        fitted = fit(parameters, one.candidates, threads=1)
        return fitted, np.zeros(len(fitted.qop), bool)

    def robust(one: Truth) -> tuple[Fitted, np.ndarray]:
        fitted = fit(parameters, one.candidates, threads=1, robust=True)
        return fitted, fitted.more["treated"] != 0

    return {"plain": plain, "robust": robust}


def figures(way: Way, sample: list[Truth], cut_on: list[Fitted]) -> dict[str, float]:
    """Fit the sample and measure it; `cut_on` are the plain fits."""
    residuals, treated = [], []
    chi2 = {name: ([], []) for name in ("ghosts", "ghosts_before")}
    for one, before in zip(sample, cut_on, strict=True):
        fitted, touched = way(one)
        good = one.genuine & is_good(fitted.status)
        residuals.append((one.qop / fitted.qop - 1)[good])
        treated.append(touched[one.genuine])
        for name, of in (("ghosts", fitted), ("ghosts_before", before)):
            ratio = chi2_per_ndof({**vars(of)})
            chi2[name][0].append(ratio[one.genuine])
            chi2[name][1].append(ratio[one.ghosts])
    residual = np.concatenate(residuals)
    core = fit_core(residual)
    kept = {
        name: float((np.concatenate(ghosts) < np.quantile(np.concatenate(genuine), WORKING_POINT)).mean())
        for name, (genuine, ghosts) in chi2.items()
    }
    return {
        "core": core.width,
        "width95": float(np.quantile(np.abs(residual), 0.9545)) / 2,
        "beyond5": float((np.abs(residual - core.mean) > 5 * core.width).mean()),
        "treated": float(np.concatenate(treated).mean()),
        **kept,
    }


def seconds(way: Way, sample: list[Truth]) -> float:
    begin = time.thread_time()
    for one in sample:
        way(one)
    return time.thread_time() - begin


def measure(run: Path) -> dict[str, dict[str, float]]:
    """Figures and speeds of all ways to fit, which run alternately."""
    parameters, sample = load(run / "set"), with_truth(run, "validation")
    found = ways(parameters)
    plain = [found["plain"](one)[0] for one in sample]
    result = {name: figures(way, sample, plain) for name, way in found.items()}
    turns = [{name: seconds(way, sample) for name, way in found.items()} for _ in range(TURNS)]
    tracks = sum(len(one.p) for one in sample)
    for name in found:
        result[name]["speed"] = statistics.median(turn["plain"] / turn[name] for turn in turns)
        result[name]["tracks_per_s"] = tracks / statistics.median(turn[name] for turn in turns)
    return result


def main() -> None:
    """Run the command line."""
    arguments = parser(__doc__, run="results/default").parse_args()
    result = measure(arguments.run)
    print(f"{'':20s} core %   95 % %  beyond 5  treated  ghosts  by χ² before  speed  M tracks/s")
    for name, one in result.items():
        print(
            f"{name:20s} {100 * one['core']:.3f}    {100 * one['width95']:.3f}   {one['beyond5']:.2%}"
            f"     {one['treated']:.1%}    {one['ghosts']:.1%}   {one['ghosts_before']:.1%}"
            f"         {one['speed']:.2f}   {one['tracks_per_s'] / 1e6:.2f}"
        )
    write(arguments.json, result)


if __name__ == "__main__":
    main()
