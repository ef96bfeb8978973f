"""How flat the efficiency of each ghost score is, on embedded candidates of segments that were found in hits.

Run: python -m benchmarks.flat RUN CANDIDATES [--genuine 0.88] [--json FILE]

RUN is a finished run with a set and the particles of `validation_up` and `validation_down`. CANDIDATES is a
folder with `up.parquet` and `down.parquet`, made of the hits of these samples by `parkf candidates --segments
found`. The flat cut is fitted to the genuine tracks of MagUp, and everything is measured on MagDown. The
scores with a constant cut keep the same fraction of all genuine tracks. Slices are of true pT (GeV), η, and
distance from the z axis (mm). `cells` counts three-dimensional cells of all three with at least 50 tracks.

Required of the flat score: at least 85 % in every slice, and at most 9 % of the ghosts.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.command import parser, write
from numpy.typing import NDArray

from parkf.fit import fit, is_good
from parkf.fit.sample import GHOST_PURITY
from parkf.io.tables import CANDIDATES, PARTICLES
from parkf.params.flat_cut import NAME, flat_score, variables
from parkf.params.ghost_score import NAMES
from parkf.params.parameter_set import ParameterSet, load
from parkf.training.ghost_score.flat import GENUINE, fit_flat_cut

SLICES = {
    "pt": (0, 0.1, 0.2, 0.3, 0.5, 1, 2, 20),
    "eta": (2, 2.5, 3, 3.5, 4, 4.5, 5),
    "displacement": (0, 0.1, 0.3, 1, 3, 10, 30),
}
ENOUGH, REQUIRED, GHOSTS = 50, 0.85, 0.09
_TRUTH = ["event", "particle", "pdg_id", "x", "y", "px", "py", "pz", "z_end"]


def read(parameters: ParameterSet, particles: Path, candidates: Path) -> pd.DataFrame:
    """Return genuine tracks and ghosts with scores and the flat cut's variables, fitted and true."""
    with CANDIDATES.open(candidates) as file:
        table = file.read()
    fitted = fit(parameters, table, threads=1, score=True)
    assert fitted.scores is not None
    truth = PARTICLES.open(particles).read(_TRUTH).to_pandas()
    rows = (
        table.select(["event", "particle", "purity"])
        .to_pandas()
        .merge(truth, on=["event", "particle"], how="left")
    )
    rows["ghost"] = rows.purity < GHOST_PURITY
    p2 = rows.px**2 + rows.py**2 + rows.pz**2
    wanted = (p2 > 2000.0**2) & (rows.pdg_id.abs() != 11) & (rows.z_end == np.inf)
    rows["genuine"] = ~rows.ghost & wanted
    rows["good"] = is_good(fitted.status)
    rows = rows.assign(**variables(fitted, parameters.manifest.constants))
    rows = rows.assign(**{name: fitted.scores[name] for name in NAMES})
    pt = np.hypot(rows.px, rows.py)
    rows["true_pt"], rows["true_eta"] = 1e-3 * pt, np.arcsinh(rows.pz / pt)
    rows["true_displacement"] = np.abs(rows.x * rows.py - rows.y * rows.px) / pt
    return rows[rows.ghost | rows.genuine].reset_index(drop=True)


def measure(rows: pd.DataFrame, kept: NDArray[np.bool_]) -> dict[str, Any]:
    """Measure a cut: efficiencies (%) with binomial errors, of genuine tracks, of ghosts, and in slices."""
    genuine = rows.genuine.to_numpy()
    result: dict[str, Any] = {"genuine": _share(kept[genuine]), "ghosts": _share(kept[rows.ghost.to_numpy()])}
    number = np.zeros(len(rows), int)
    inside = genuine.copy()
    for name, edges in SLICES.items():
        at = np.searchsorted(edges, rows[f"true_{name}"], side="right") - 1
        slices = enumerate(pairwise(edges))
        result[name] = [{"low": a, "high": b} | _share(kept[genuine & (at == i)]) for i, (a, b) in slices]
        number, inside = number * 16 + at, inside & (at >= 0) & (at < len(edges) - 1)
    counts, passed = np.bincount(number[inside]), np.bincount(number[inside], kept[inside])
    share = passed[counts >= ENOUGH] / counts[counts >= ENOUGH]
    error = np.sqrt(REQUIRED * (1 - REQUIRED) / counts[counts >= ENOUGH])
    result["cells"] = {
        "n": len(share),
        "below 85 %": int((share < REQUIRED).sum()),
        "by more than 3 errors": int((share < REQUIRED - 3 * error).sum()),
        "lowest": round(100 * float(share.min()), 1),
    }
    return result


def _share(of: NDArray[np.bool_]) -> dict[str, float]:
    mean = float(of.mean()) if len(of) else np.nan
    error = np.sqrt(max(mean * (1 - mean), 1 / max(len(of), 1)) / max(len(of), 1))
    return {"n": len(of), "kept": round(100 * mean, 1), "error": round(100 * float(error), 1)}


def show(name: str, one: dict[str, Any]) -> None:
    """Print the figures of a cut, a line for each variable."""
    print(f"{name}: genuine {_text(one['genuine'])}, ghosts {_text(one['ghosts'])} %; cells {one['cells']}")
    for variable in SLICES:
        print(f"  {variable:12}", "  ".join(f"{s['low']:g}-{s['high']:g}: {_text(s)}" for s in one[variable]))


def _text(one: dict[str, float]) -> str:
    return f"{one['kept']} ± {one['error']}"


def main() -> None:
    """Measure, print and write."""
    line = parser(__doc__)
    line.add_argument("run", type=Path)
    line.add_argument("candidates", type=Path)
    line.add_argument("--genuine", type=float, default=GENUINE)
    given = line.parse_args()
    parameters = load(given.run / "set")
    samples = [
        read(
            parameters,
            given.run / f"particles/validation_{name}.parquet",
            given.candidates / f"{name}.parquet",
        )
        for name in ("up", "down")
    ]
    learn = samples[0][samples[0].genuine & samples[0].good]
    cut = fit_flat_cut(
        learn.score_kinematic.to_numpy(np.float64),
        {name: learn[name].to_numpy() for name in SLICES},
        genuine=given.genuine,
    )
    rows = samples[1]
    of = {name: rows[name].to_numpy() for name in SLICES}
    rows[NAME] = flat_score(cut, rows.score_kinematic.to_numpy(), of)
    good, figures = rows.good.to_numpy(), {}
    for name in (*NAMES, NAME):
        values = rows[name].to_numpy()
        limit = 0.0 if name == NAME else np.quantile(values[rows.genuine & good], 1 - given.genuine)
        figures[name] = measure(rows, good & (values >= limit))
        show(name, figures[name])
    lowest = min(one["kept"] for variable in SLICES for one in figures[NAME][variable])
    required = {
        f"at least {REQUIRED:.0%} in every slice": {"lowest": lowest, "met": lowest >= 100 * REQUIRED},
        f"at most {GHOSTS:.0%} of the ghosts": {
            "kept": figures[NAME]["ghosts"]["kept"],
            "met": figures[NAME]["ghosts"]["kept"] <= 100 * GHOSTS,
        },
    }
    print(json.dumps(required, indent=1))
    write(
        given.json,
        {"learnt on": len(learn), "genuine": given.genuine, "scores": figures, "required": required},
    )


if __name__ == "__main__":
    main()
