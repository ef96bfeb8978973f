"""Tails of q/p on LHCb's hits: of the full fit beside embedded ones, by direction, and of fits with a set.

Run: python -m benchmarks.tails [RUN] [LHCB] [--json FILE]

LHCB is the folder of ten events of LHCb's full simulation. The embedded sample is 200 crossings of RUN's
validation particles of MagDown, simulated with crowded hits in the geometry for LHCb's simulation. Tracks are
genuine ones above 2 GeV.

- `matched`: all hits of a particle and no others, so that wrong hits cannot cause tails. `found`: segments
  and hits that were found by the search.
- `beyond3`, `beyond5`: fractions of tracks with a q/p pull beyond 3 and 5, with errors.
- `width68`: half of the interval that holds the central 68 % of the pulls.
- `set`: the plain and the robust fit of LHCb's hits with RUN's set. Its geometry has the same layers, and
  another luminous region, which has no influence on q/p.
- η from 4.7 to 5.3 is where tracks cross flanges of the beam pipe behind the UT, which the fit does not know.
"""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.command import LHCB, lhcb_events, parser, write

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.fit import fit_file, fit_file_full
from parkf.fit.sample import load_sample, pulls
from parkf.fit.truth import Files
from parkf.io.files import scratch_folder
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.simulate import simulate

REGIONS = {"2 < η < 4.7": (2.0, 4.7), "4.7 < η < 5.3": (4.7, 5.3), "all": (0.0, 9.0)}
SEED, CROSSINGS = 31, 200


def tails(
    hits: Path, particles: Path, geometry: Geometry, field: FieldMap, folder: Path
) -> dict[str, dict[str, Any]]:
    """Search one sample, fit it in full, and measure its tails by search and region."""
    measured: dict[str, dict[str, Any]] = {}
    for way in ("matched", "found"):
        candidates, fitted = folder / f"{way}.parquet", folder / f"fitted-{way}.parquet"
        chosen: dict[str, Any] = {"matched": True} if way == "matched" else {"segments": "found"}
        find_candidates(hits, candidates, geometry=geometry, field=field, polarity=-1, workers=1, **chosen)
        fit_file_full(candidates, fitted, geometry=geometry, field=field, threads=1)
        good = load_sample([Files(particles, candidates, fitted)]).good
        eta = np.arcsinh(1.0 / np.hypot(good["true_tx"], good["true_ty"]))
        pull = pulls(good, "qop", finite_only=False)
        measured[way] = {
            name: _figures(pull[(eta > low) & (eta < high)]) for name, (low, high) in REGIONS.items()
        }
    return measured


def tails_of_set(parameters: Path, particles: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Fit the candidates in `folder` that `tails` has found with a set; measure tails by search and fit."""
    measured: dict[str, dict[str, Any]] = {}
    for way in ("matched", "found"):
        candidates, fitted = folder / f"{way}.parquet", folder / f"fitted-{way}.parquet"
        measured[way] = {}
        for name, robust in (("plain", False), ("robust", True)):
            fit_file(parameters, candidates, fitted, robust=robust, trust=True, threads=1)
            good = load_sample([Files(particles, candidates, fitted)]).good
            measured[way][name] = _figures(pulls(good, "qop", finite_only=False))
    return measured


def _figures(pull: np.ndarray) -> dict[str, float]:
    low, high = np.quantile(pull, (0.1587, 0.8413))
    figures: dict[str, float] = {"tracks": len(pull), "width68": float(high - low) / 2}
    for limit in (3, 5):
        fraction = float(np.mean(np.abs(pull) > limit))
        figures[f"beyond{limit}"] = fraction
        figures[f"beyond{limit}_error"] = float(np.sqrt(fraction * (1 - fraction) / len(pull)))
    return figures


def table(found: dict[str, Any]) -> str:
    """Write the figures as a table for a page."""
    lines = [
        "| candidates | direction | LHCb: 68 % width | beyond 3 | beyond 5 "
        "| embedded: 68 % width | beyond 3 | beyond 5 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for way, region in ((way, region) for way in ("matched", "found") for region in REGIONS):
        cells = [way, region]
        for one in (found[sample][way][region] for sample in ("lhcb", "embedded")):
            cells.append(f"{one['width68']:.2f}")
            cells += [
                f"{100 * one[f'beyond{limit}']:.1f} ± {100 * one[f'beyond{limit}_error']:.1f} %"
                for limit in (3, 5)
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table_of_set(found: dict[str, Any]) -> str:
    """Write the figures of fits with a set as a table for a page."""
    lines = ["| candidates | fit | 68 % width | beyond 3 | beyond 5 |", "|---|---|---|---|---|"]
    for way, name in product(("matched", "found"), ("plain", "robust")):
        one = found["set"][way][name]
        width = f"{one['width68']:.2f}"
        beyond = [
            f"{100 * one[f'beyond{limit}']:.1f} ± {100 * one[f'beyond{limit}_error']:.1f} %"
            for limit in (3, 5)
        ]
        lines.append(f"| {' | '.join([way, name, width, *beyond])} |")
    return "\n".join(lines)


def main() -> None:
    """Print the figures, and write them as JSON if asked."""
    given = parser(__doc__, run="results/improved", lhcb=LHCB).parse_args()
    with scratch_folder() as name:
        scratch = Path(name)
        geometry, field, hits, particles = lhcb_events(given.lhcb, scratch)
        found = {"lhcb": tails(hits, particles, geometry, field, scratch)}
        found["set"] = tails_of_set(given.run / "set", particles, scratch)
        particles = given.run / "particles/validation_down.parquet"
        simulate(
            particles,
            None,
            hits,
            geometry=geometry,
            field=field,
            polarity=-1,
            seed=SEED,
            hits_before=CROSSINGS,
            crowded=True,
            threads=1,
        )
        found["embedded"] = tails(hits, particles, geometry, field, scratch)
    print(table(found))
    print(table_of_set(found))
    write(given.json, {"run": given.run.name, **found})


if __name__ == "__main__":
    main()
