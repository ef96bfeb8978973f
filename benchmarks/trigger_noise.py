"""Noise that serves the trigger best: factors of each kind of step in the trigger's own arithmetic.

Run: python -m benchmarks.trigger_noise [RUN]

The factors (``training.noise_scale``) are chosen on the candidates of the run's training. Resolution counts
twice: as the core of δp/p and as the width of its central 68 %. Ghosts, the q/p pull and genuine tracks that
become NaN count beside it. Any figure that becomes worse than with the numbers for this project's fit counts
tenfold, so that the result is at least as good in each. V stays: it is measured (`sums` in accuracy.json),
and pulls at the beam depend on it. Both sets of numbers are measured on the candidates of the validation.
"""

import json
import sys
from pathlib import Path

import numpy as np
from benchmarks.pull_bound import Noise, Truth, with_truth
from numpy.typing import NDArray
from scipy.optimize import minimize

from parkf.fit import fit
from parkf.fit.sample import chi2_per_ndof
from parkf.params.parameter_set import ParameterSet, load
from parkf.proof.validation.core import fit_core

KINDS = ("VUT", "UT", "UTTF", "TFT", "T", "BEND")
FOR_THE_SMOOTHER = {"VUT": 0.77, "UT": 0.74, "UTTF": 1.12, "TFT": 1.6, "T": 1.02, "BEND": 0.13}
# The search is local, and figures have noise: it begins at several points.
STARTS = ((1, 1, 1, 1, 1, 1), (0.9, 1.3, 1.3, 0.7, 1.1, 1.2), (0.7, 1.5, 1, 0.7, 1.1, 1.2))
# Weights of the logarithms of figures, and of what is worse than before.
WEIGHTS = {"core": 2.0, "width68": 2.0, "ghosts": 1.0, "pull": 1.0, "nan": 0.1}
WORSE = {"core": 10.0, "width68": 10.0, "ghosts": 10.0, "pull": 10.0, "cut": 10.0, "nan": 1.0}
# Fractions of genuine tracks to keep, over which ghosts are averaged: steadier than one of them.
KEPT = (0.88, 0.91, 0.94)


def measure(parameters: ParameterSet, sample: list[Truth]) -> dict[str, float]:
    """Fit in the trigger's arithmetic and single precision, and return the figures."""
    chi2, wrong, residuals, pulls, lost = [], [], [], [], []
    for one in sample:
        fitted = fit(parameters, one.candidates, scheme="trigger", threads=1)
        ratio = chi2_per_ndof({**vars(fitted)})
        chi2.append(ratio[one.genuine])
        wrong.append(ratio[one.ghosts])
        good = one.genuine & (fitted.status == 0)
        residuals.append((one.qop / fitted.qop - 1)[good])
        pulls.append((fitted.qop - one.qop)[good] / np.sqrt(fitted.qopqop[good]))
        lost.append(~np.isfinite(fitted.qop[one.genuine]))
    residual, ghosts = np.concatenate(residuals), np.concatenate(wrong)
    cuts, core = np.quantile(np.concatenate(chi2), KEPT), fit_core(residual)
    return {
        "core": core.width,
        "bias": core.mean,
        "width68": float(np.quantile(np.abs(residual), 0.6827)),
        "pull": fit_core(np.concatenate(pulls)).width,
        "ghosts": float(np.mean([(ghosts < cut).mean() for cut in cuts])),
        "cut": float(cuts[1]),
        "nan": float(np.concatenate(lost).mean()),
    }


def choose(noise: Noise, sample: list[Truth]) -> dict[str, float]:
    """Return the factors that serve the trigger best on this sample."""
    before = measure(noise.scaled(FOR_THE_SMOOTHER), sample)
    begin = np.log([FOR_THE_SMOOTHER[kind] for kind in KINDS])

    def cost(logarithms: NDArray[np.float64]) -> float:
        now = measure(noise.scaled(_factors(logarithms)), sample)
        ratio = {name: float(np.log(now[name] / before[name])) for name in WORSE}
        gained = sum(weight * ratio[name] for name, weight in WEIGHTS.items())
        return gained + sum(weight * max(0.0, ratio[name]) for name, weight in WORSE.items())

    bounds = [(one - 1.2, one + 1.2) for one in begin[:-1]] + [(-4.0, 0.0)]
    found = []
    for start in STARTS:
        options = {"maxfev": 400, "xtol": 0.01, "ftol": 1e-6}
        first = minimize(cost, begin + np.log(start), method="Powell", bounds=bounds, options=options)
        found.append(minimize(cost, first.x, method="Nelder-Mead", options={"maxfev": 400}))
    return _factors(min(found, key=lambda one: one.fun).x)


def _factors(logarithms: NDArray[np.float64]) -> dict[str, float]:
    values = [*np.exp(logarithms[:-1]).tolist(), min(1.0, float(np.exp(logarithms[-1])))]
    return {kind: round(value, 3) for kind, value in zip(KINDS, values, strict=True)}


def main(run: Path) -> None:
    """Choose factors, measure them and those for the smoother, and print all as JSON."""
    noise = Noise(load(run / "set"))
    chosen = choose(noise, with_truth(run, "training"))
    validation = with_truth(run, "validation")
    found = {
        name: {"factors": factors, **measure(noise.scaled(factors), validation)}
        for name, factors in (("for the smoother", FOR_THE_SMOOTHER), ("for the trigger", chosen))
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/default"))
