"""Finds, for each kind of step, the noise factor with which the trigger's arithmetic fits best.

Run: python -m benchmarks.trigger_noise [RUN [LIKE]]

The factors (``training.noise_scale``) are chosen on the training candidates of two runs: RUN and LIKE. In
LIKE (fullsim.yaml) hits are as crowded as LHCb's, and segments are found as LHCb finds them. Noise that is
chosen on clean hits alone keeps two percentage points more ghosts where hits are crowded.

The cost counts the resolution twice: as the width of the core of δp/p, and as the width of its central 68 %.
It also counts ghosts, the q/p pull, and genuine tracks that become NaN. A figure that becomes worse than with
the numbers for this project's fit counts ten times more, so that the result is at least as good in each
figure. The χ²/ndof that keeps 91 % of genuine tracks is one of the figures, since the trigger's selections
cut at a fixed χ²/ndof.

The factor of V is fixed. A larger one would keep fewer ghosts, but make the errors at the beam too large.
With the present one the pulls of x, y, tx and ty are 0.95 to 1. Both sets of numbers are measured on the
validation candidates.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.command import parser, write
from benchmarks.pull_bound import Noise, Truth, with_truth
from numpy.typing import NDArray
from scipy.optimize import minimize

from parkf.fit import fit, is_good
from parkf.fit.sample import chi2_per_ndof
from parkf.params.parameter_set import ParameterSet
from parkf.proof.validation.core import fit_core

KINDS = ("VUT", "UT", "UTTF", "TFT", "T", "BEND")
LEAST = 0.5  # of a factor in a configuration
V = 1.1
FOR_THE_SMOOTHER = {"V": 1.07, "VUT": 0.77, "UT": 0.74, "UTTF": 1.12, "TFT": 1.6, "T": 1.02, "BEND": 0.13}
# The search is local and the figures fluctuate, so it begins at two points, in units of the numbers above.
STARTS = ((1, 1, 1, 1, 1, 1), (0.75, 1.1, 1.15, 0.35, 1.25, 6.5))
# Weights of the figures' logarithms, and weights of what is worse than before.
WEIGHTS = {"core": 4.0, "width68": 2.0, "ghosts": 2.0, "pull": 1.0, "nan": 0.05}
WORSE = {"core": 20.0, "width68": 20.0, "ghosts": 20.0, "pull": 20.0, "cut": 20.0, "nan": 1.0}
# Fractions of genuine tracks to keep. Ghosts are averaged over them, which fluctuates less than one alone.
KEPT = (0.88, 0.91, 0.94)


def measure(parameters: ParameterSet, sample: list[Truth]) -> dict[str, float]:
    """Fit in the trigger's arithmetic and single precision, and return the figures."""
    chi2, wrong, residuals, pulls, lost = [], [], [], [], []
    for one in sample:
        fitted = fit(parameters, one.candidates, scheme="trigger", threads=1)
        ratio = chi2_per_ndof({**vars(fitted)})
        chi2.append(ratio[one.genuine])
        wrong.append(ratio[one.ghosts])
        good = one.genuine & is_good(fitted.status)
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


def choose(noise: Noise, samples: list[list[Truth]]) -> dict[str, float]:
    """Return the factors with the lowest cost on all of these samples together."""
    before = [measure(noise.scaled(FOR_THE_SMOOTHER), sample) for sample in samples]
    begin = np.log([FOR_THE_SMOOTHER[kind] for kind in KINDS])

    def cost(logarithms: NDArray[np.float64]) -> float:
        total = 0.0
        for sample, then in zip(samples, before, strict=True):
            now = measure(noise.scaled(_factors(logarithms)), sample)
            ratio = {name: float(np.log(now[name] / then[name])) for name in WORSE}
            total += sum(weight * ratio[name] for name, weight in WEIGHTS.items())
            total += sum(weight * max(0.0, ratio[name]) for name, weight in WORSE.items())
        return total

    options = {"maxfev": 240, "xatol": 0.003, "fatol": 1e-4}
    found = []
    for start in STARTS:
        first = begin + np.log(start)
        simplex = np.vstack([first, first + 0.15 * np.diag([-1, 1, 1, -1, 1, 1])])
        found.append(
            minimize(cost, first, method="Nelder-Mead", options={**options, "initial_simplex": simplex})
        )
    return _factors(min(found, key=lambda one: one.fun).x)


def _factors(logarithms: NDArray[np.float64]) -> dict[str, float]:
    factors = np.exp(logarithms)
    values = [*np.maximum(factors[:-1], LEAST).tolist(), min(1.0, float(factors[-1]))]
    return {"V": V} | {kind: round(value, 3) for kind, value in zip(KINDS, values, strict=True)}


def main(run: Path, like: Path) -> dict[str, Any]:
    """Choose factors, measure them and those for the smoother; print all as JSON, and return it."""
    noise = Noise(run)
    chosen = choose(noise, [with_truth(one, "training") for one in (run, like)])
    validations = {one.name: with_truth(one, "validation") for one in (run, like)}
    found = {
        name: {
            "factors": factors,
            **{of: measure(noise.scaled(factors), sample) for of, sample in validations.items()},
        }
        for name, factors in (("for the smoother", FOR_THE_SMOOTHER), ("for the trigger", chosen))
    }
    print(json.dumps(found, indent=1))
    return found


if __name__ == "__main__":
    options = parser(__doc__, run="results/default", like="results/fullsim").parse_args()
    write(options.json, main(options.run, options.like))
