"""How many tracks have the warning `far_hit`: genuine ones, ghosts, and tracks with one hit moved.

Run: python -m benchmarks.far_hits [RUN] [--json FILE]

The sample is the validation's candidates of a run. They are fitted in single precision with the run's set, by
each scheme that the set is for.

- `genuine`, `ghosts`: share with the warning. Genuine tracks are those of the validation, above 2 GeV.
- `pure`, `kinked`: of the genuine tracks with the warning, the shares without a wrong hit, and of these the
  share that scattered by more than ten of its widths somewhere.
- `velo`, `ut`, `scifi`: share of genuine tracks with the warning after one of their hits was moved, by 5 mm
  in x or y in the VELO, by 300 mm in UT and SciFi.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.command import parser, write

from parkf.fit import STATUS_BITS, fit
from parkf.fit.candidates import Candidates
from parkf.fit.hits import from_arrow
from parkf.fit.sample import load_sample
from parkf.fit.truth import Files
from parkf.io.tables import CANDIDATES
from parkf.params.parameter_set import ParameterSet, load

SEED = 30
MOVES = {"velo": 5.0, "ut": 300.0, "scifi": 300.0}  # mm
HARD, PURE = 10.0, 0.999


def far(parameters: ParameterSet, tracks: Candidates, scheme: str) -> np.ndarray:
    """Return which tracks have the warning, (n,)."""
    robust, name = scheme == "robust", "trigger" if scheme == "trigger" else "smoother"
    status = fit(parameters, tracks, scheme=name, robust=robust).status
    return np.asarray(status & STATUS_BITS["far_hit"]) > 0


def moved(tracks: Candidates, detector: str, random: np.random.Generator) -> tuple[Candidates, np.ndarray]:
    """Move one hit of each track; return the tracks, and which of them have a hit to move, (n,)."""
    arrays = [values.copy() for values in getattr(tracks, detector)]
    coordinates = 2 if detector == "velo" else 1
    there = np.isfinite(arrays[0])
    if detector == "velo":
        there &= np.arange(there.shape[1]) < tracks.velo_n[:, None]
    rows = np.flatnonzero(there.any(axis=1))
    slot = np.where(there, random.random(there.shape), -1.0).argmax(axis=1)[rows]
    by = MOVES[detector] * random.choice([-1.0, 1.0], len(rows))
    axis = random.integers(0, coordinates, len(rows))
    for number in range(coordinates):
        arrays[number][rows[axis == number], slot[axis == number]] += by[axis == number]
    return replace(tracks, **{detector: tuple(arrays)}), there.any(axis=1)


def measure(run: Path) -> dict[str, dict[str, float]]:
    """Shares by scheme."""
    parameters = load(run / "set")
    schemes = ("parkf", "robust", *(["trigger"] if parameters.manifest.forms == "production" else []))
    counts: dict[str, dict[str, list[np.ndarray]]] = {scheme: {} for scheme in schemes}
    for path in sorted((run / "candidates").glob("validation_*.parquet")):
        truth, fates, fitted = (run / name / path.name for name in ("particles", "fates", "fitted/parkf"))
        sample = load_sample([Files(truth, path, fitted, fates)])
        tracks = from_arrow(CANDIDATES.open(path).read().combine_chunks(), np.float32)
        genuine = sample.is_genuine
        pure, hard = (
            np.asarray(sample.rows["purity"])[genuine] > PURE,
            np.asarray(sample.rows["hardest"])[genuine] > HARD,
        )
        random = np.random.default_rng(SEED)
        spoiled = {name: moved(tracks.rows(np.flatnonzero(genuine)), name, random) for name in MOVES}
        for scheme, of in counts.items():
            all_of_them = far(parameters, tracks, scheme)
            own = all_of_them[genuine]
            found = {"genuine": own, "ghosts": all_of_them[sample.is_ghost]}
            found |= {"pure": pure[own], "kinked": hard[own & pure]}
            found |= {name: far(parameters, some, scheme)[had] for name, (some, had) in spoiled.items()}
            for name, values in found.items():
                of.setdefault(name, []).append(values)
    result: dict[str, dict[str, float]] = {}
    for scheme, of in counts.items():
        result[scheme] = {}
        for name, parts in of.items():
            values = np.concatenate(parts)
            share = float(values.mean())
            result[scheme][name] = share
            result[scheme][f"{name}_error"] = float(np.sqrt(share * (1 - share) / len(values)))
    return result


def main() -> None:
    """Print the shares, and write them as JSON if asked."""
    given = parser(__doc__, run="results/default").parse_args()
    found = measure(given.run)
    for scheme, one in found.items():
        print(scheme)
        for name in (name for name in one if not name.endswith("_error")):
            print(f"  {name:8} {100 * one[name]:7.3f} ± {100 * one[f'{name}_error']:.3f} %")
    write(given.json, {"run": given.run.name, "schemes": found})


if __name__ == "__main__":
    main()
