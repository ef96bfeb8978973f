"""How near to one the q/p pulls of the trigger's forms can come, for the best choice of noise numbers.

Run: python -m benchmarks.pull_bound [RUN] [--json FILE]

In this layout the q/p error of a fit can follow only few functions of p, for two reasons. The noise behind
the VELO is a number times 1/p, and the errors of hits do not depend on p. The free numbers are a factor for
each kind of step (``training.noise_scale``) and BEND, the fraction of the hop's scattering that stays behind
the bend.

The numbers are chosen on the run's training candidates. The pull of each momentum bin must stay inside its
bars (0.95 to 1.05; to 1.15 below 3 GeV), and the resolution must suffer least. The result is measured on the
training candidates and on the validation candidates. `without BEND` shows the best pulls that the factors
alone can reach, whatever the resolution; `pulls alone` shows the same for the factors and BEND. The magnet
table is always the run's. A table that was closed with the other numbers would move pulls by less than their
errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.command import parser, write
from numpy.typing import NDArray
from scipy.optimize import minimize

from parkf.fit import fit, is_good
from parkf.fit.candidates import Candidates
from parkf.fit.hits import from_arrow
from parkf.fit.sample import GHOST_PURITY
from parkf.io.events import particle_key
from parkf.io.tables import CANDIDATES, PARTICLES
from parkf.model.steps import FORMS
from parkf.params.configuration import flat, noise_scale
from parkf.params.parameter_set import ParameterSet, load, with_blobs
from parkf.proof.validation.core import fit_core
from parkf.proof.validation.validate import MOMENTUM_EDGES
from parkf.training.fit_noise import noise_factors, way_through_magnet
from parkf.training.result import load_results

F64 = NDArray[np.float64]

KINDS = ("VUT", "UT", "UTTF", "TFT", "T")
LOWEST, HIGHEST = np.full(6, 0.95), np.array([1.15, *[1.05] * 5])
# Pulls must be inside the bars by this margin, so that those of other tracks stay inside as well.
MARGIN = 0.01
# Logarithms of the numbers: the step of numerical derivatives, and the largest change in one round.
STEP, FARTHEST = 0.05, 0.15
ROUNDS = 10
ELECTRON = 11


@dataclass(frozen=True)
class Tracks:
    """Genuine tracks of 2 to 100 GeV: candidates, true q/p (1/MeV), and the rows of each momentum bin."""

    candidates: Candidates
    qop: F64
    bins: list[NDArray[np.int64]]


@dataclass(frozen=True)
class Truth:
    """Candidates of one polarity: true q/p (1/MeV) and p (MeV), and masks of genuine tracks and ghosts."""

    candidates: Candidates
    qop: F64
    p: F64
    genuine: NDArray[np.bool_]
    ghosts: NDArray[np.bool_]


def with_truth(run: Path, sample: str) -> list[Truth]:
    """Read the candidates of a sample, one item for each polarity; genuine tracks are above 2 GeV."""
    found = []
    for path in sorted((run / "candidates").glob(f"{sample}_*.parquet")):
        rows = CANDIDATES.open(path).read().combine_chunks()
        table = PARTICLES.open(run / "particles" / path.name).read()
        true = {name: table[name].to_numpy() for name in table.column_names}
        key = particle_key({name: rows[name].to_numpy() for name in ("event", "particle")})
        known = particle_key(true)
        order = np.argsort(known)
        row = order[np.minimum(np.searchsorted(known[order], key), len(order) - 1)]
        p = np.sqrt(sum(true[name] ** 2 for name in ("px", "py", "pz")))[row]
        pure = rows["purity"].to_numpy() >= GHOST_PURITY
        genuine = (known[row] == key) & pure & (p > 2000) & (np.abs(true["pdg_id"][row]) != ELECTRON)
        found.append(Truth(from_arrow(rows, np.float32), true["charge"][row] / p, p, genuine, ~pure))
    return found


def genuine(run: Path, sample: str) -> list[Tracks]:
    """Read the genuine tracks of a sample, one item for each polarity."""
    found = []
    for one in with_truth(run, sample):
        chosen = np.flatnonzero(one.genuine)
        places = np.searchsorted(MOMENTUM_EDGES, 1e-3 * one.p[chosen], "right") - 1
        bins = [np.flatnonzero(places == number) for number in range(len(MOMENTUM_EDGES) - 1)]
        found.append(Tracks(one.candidates.rows(chosen), one.qop[chosen], bins))
    return found


class Noise:
    """Makes parameter sets from a run's numbers with other noise."""

    def __init__(self, run: Path) -> None:
        self._parameters = parameters = load(run / "set")
        manifest = parameters.manifest
        self._forms = FORMS[manifest.forms]
        self._way = way_through_magnet(parameters.layout, parameters.constant)
        self._fitted = {name: one.numbers for name, one in load_results(run / "fits").items()}
        self.now = noise_scale(manifest.configuration)

    def scaled(self, scales: dict[str, float]) -> ParameterSet:
        """Return the set with these factors."""
        said = flat({"training": {"noise_scale": self.now | scales}})
        factors = noise_factors(self._forms, self._fitted, said, self._way)
        constant, layout = self._parameters.constant.copy(), self._parameters.layout
        for name, numbers in self._fitted.items():
            constant[layout.block_slice(name)] = (numbers * factors[name]).ravel()
        return with_blobs(self._parameters.manifest, constant, self._parameters.table)


def measure(parameters: ParameterSet, tracks: Sequence[Tracks]) -> list[dict[str, float]]:
    """Core widths of the q/p pull and of δp/p, and the 68 % width of the latter, by momentum."""
    pulls, residuals = [], []
    for one in tracks:
        fitted = fit(parameters, one.candidates, threads=1)
        qop = fitted.qop.astype(np.float64)
        good = is_good(fitted.status)
        pulls.append([((qop - one.qop) / np.sqrt(fitted.qopqop))[b[good[b]]] for b in one.bins])
        residuals.append([(np.abs(one.qop / qop) - 1)[b[good[b]]] for b in one.bins])
    entries = []
    for (low, high), pull, residual in zip(
        pairwise(MOMENTUM_EDGES),
        map(np.concatenate, zip(*pulls, strict=True)),
        map(np.concatenate, zip(*residuals, strict=True)),
        strict=True,
    ):
        of_pull, of_p = fit_core(pull), fit_core(residual)
        ends = np.quantile(residual, (0.07, 0.16, 0.84, 0.93))
        entries.append(
            {"p_min": low, "p_max": high, "pull": of_pull.width, "pull_error": of_pull.width_error}
            | {"core": of_p.width, "core_error": of_p.width_error, "n": of_p.n}
            # This width of the same tracks changes more smoothly with the noise than the core width does.
            | {"middle": float(np.sqrt((ends[2] - ends[1]) * (ends[3] - ends[0])))}
        )
    return entries


def best(noise: Noise, tracks: Sequence[Tracks], names: Sequence[str], resolution: float) -> dict[str, float]:
    """Choose factors: pulls inside the bars come first, then `resolution` times the loss of resolution."""
    low, high = np.log(LOWEST + MARGIN), np.log(HIGHEST - MARGIN)

    def look(logs: F64) -> tuple[F64, F64]:
        entries = measure(noise.scaled(dict(zip(names, np.exp(logs), strict=True))), tracks)
        return np.log([e["pull"] for e in entries]), np.log([e["middle"] for e in entries])

    def cost(pull: F64, width: F64) -> float:
        beyond = np.maximum(0, np.maximum(pull - high, low - pull))
        return float(1e4 * np.sum(beyond**2) + 100 * resolution * np.mean(width - before[1]))

    ceiling = np.array([np.log(1.0) if name == "BEND" else np.log(4.0) for name in names])
    floor = np.array([np.log(0.04) if name == "BEND" else np.log(0.4) for name in names])
    here = np.array([np.log(noise.now.get(name, 1.0)) for name in names])
    # BEND begins below one, its largest value, so that derivatives exist on both sides.
    here = np.where([name == "BEND" for name in names], np.minimum(here, np.log(0.2)), here)
    before = look(here)
    found = (np.inf, here, before)
    reach = FARTHEST * np.where(floor < np.log(0.1), 5, 1)
    for _ in range(ROUNDS):
        at = look(here)
        if cost(*at) < found[0]:
            found = (cost(*at), here, at)
        else:
            reach = reach / 2
        _, here, at = found
        sides = [(look(here + d), look(here - d)) for d in STEP * np.eye(len(here))]
        slopes = np.array([[(a[i] - b[i]) / (2 * STEP) for i in (0, 1)] for a, b in sides])
        bends = np.array([[(a[i] + b[i] - 2 * at[i]) / STEP**2 for i in (0, 1)] for a, b in sides])
        bends[:, 1] = np.maximum(bends[:, 1], 0)

        def foreseen(d: F64, at: Any = at, slopes: F64 = slopes, bends: F64 = bends) -> float:
            pull, width = (at[i] + d @ slopes[:, i] + 0.5 * d**2 @ bends[:, i] for i in (0, 1))
            return cost(pull, width) + 1e-3 * float(np.sum((d / STEP) ** 2))

        bounds = list(
            zip(
                np.maximum(-reach, floor - here),
                np.maximum(np.minimum(reach, ceiling - here - STEP), 1e-9),
                strict=True,
            )
        )
        starts = np.random.default_rng(1).uniform(-0.5, 0.5, (5, len(here))) * reach
        steps = [
            minimize(foreseen, s, bounds=bounds, method="L-BFGS-B") for s in (np.zeros_like(here), *starts)
        ]
        here = here + min(steps, key=lambda step: step.fun).x
    return {name: float(np.round(np.exp(log), 3)) for name, log in zip(names, found[1], strict=True)}


def main() -> None:
    """Measure, print and write."""
    given = parser(__doc__, run="results/default").parse_args()
    noise = Noise(given.run)
    training, validation = (genuine(given.run, sample) for sample in ("training", "validation"))
    choices = {
        "steps as fitted": {**dict.fromkeys(KINDS, 1.0), "BEND": 1.0},
        "the run's": {name: noise.now.get(name, 1.0) for name in (*KINDS, "BEND")},
        "without BEND": {**best(noise, training, KINDS, 0.0), "BEND": 1.0},
        "pulls alone": best(noise, training, (*KINDS, "BEND"), 0.0),
        "best": best(noise, training, (*KINDS, "BEND"), 0.5),
    }
    result = {}
    for name, scales in choices.items():
        parameters = noise.scaled(scales)
        result[name] = {
            "noise_scale": scales,
            "training": measure(parameters, training),
            "validation": measure(parameters, validation),
        }
        print(name, scales)
        for sample in ("training", "validation"):
            told = (
                f"{e['pull']:.3f} ± {e['pull_error']:.3f} ({1e2 * e['core']:.3f} %)"
                for e in result[name][sample]
            )
            print(f"  {sample:10s}", "  ".join(told), flush=True)
    write(given.json, {"momentum": MOMENTUM_EDGES, "choices": result})


if __name__ == "__main__":
    main()
