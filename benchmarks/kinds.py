"""Kinds of tracks besides long ones: figures of a run, and LHCb's own downstream tracks.

Run: python -m benchmarks.kinds [RUN] [--lhcb FILE] [--json FILE]

Of a run, the figures are those of ``kinds`` in ``validation.json``. FILE is LHCb's tree `Hits_detectors` of
downstream tracks, whose p is that of LHCb's own reconstruction; they are fitted with the run's set, in the
run's field. Nothing was adjusted to these tracks.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import uproot
from benchmarks.command import parser, write
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.geometry import load_geometry
from parkf.fit import fit_file
from parkf.imports.hits.physics import Run
from parkf.imports.hits.take import take_entries
from parkf.imports.hits.track_fits import fit_scifi, fit_ut
from parkf.io.files import read_json, scratch_folder
from parkf.io.kinds import KINDS
from parkf.io.tables import CANDIDATES, FITTED

F64 = NDArray[np.float64]

GEOMETRY, ALIGNMENT = Path("data/geometry/run3.yaml"), Path("data/geometry/alignment_nominal.yaml")
EDGES = (2.0, 3.0, 5.0, 10.0, 20.0, 50.0)  # GeV
KEPT = 0.9  # of the matched tracks, by a cut on χ²
SHOWN_FROM, FEWEST = 3.0, 500  # GeV, and tracks of the bins that the page shows
LEAN = 0.0036  # dz/dy of SciFi layers


def of_kind(figures: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows: pulls and momentum, and the search."""
    chosen = figures.get("fit") or figures
    return {name: chosen[name] for name in ("pulls", "momentum", "search") if chosen.get(name)}


def downstream_of_lhcb(run: Path, source: Path) -> dict[str, Any]:
    """Fit LHCb's downstream tracks, and compare with LHCb's momenta."""
    geometry, field = load_geometry(GEOMETRY, ALIGNMENT), FieldMap.load(run / "field.npz")
    with scratch_folder() as folder:
        candidates, fitted = Path(folder) / "candidates.parquet", Path(folder) / "fitted.parquet"
        take_entries(source, Run(field, -1, geometry), settle=lambda seen: None, candidates_to=candidates)
        fit_file(run / "set", candidates, fitted, kind="downstream", trust=True)
        found = CANDIDATES.open(candidates).read().to_pandas()
        fits = FITTED.open(fitted).read().to_pandas()
    tree = uproot.open(source)["Hits_detectors"].arrays(["eventID", "p", "isMatched"], library="np")
    order = np.argsort(tree["eventID"], kind="stable")
    p, matched = tree["p"][order], tree["isMatched"][order].astype(bool)
    assert (matched == (found.purity > 0.5)).all()
    ratio = 1 / (np.abs(fits.qop.to_numpy(np.float64)) * p)
    chi2 = ((fits.chi2_ut + fits.chi2_scifi) / (fits.ndof_ut + fits.ndof_scifi)).to_numpy(np.float64)

    def hits(name: str) -> list[F64]:
        columns = ("x", "z", "dxdy", "sigma")
        return [np.stack(found[f"{name}_{one}"]).astype(np.float64) for one in columns]

    curves = fit_scifi(np.full((len(found), 12), LEAN), *hits("scifi")).chi2
    lines = fit_ut(*hits("ut")).chi2

    def kept(values: F64) -> float:
        return float((values[~matched] < np.quantile(values[matched], KEPT)).mean())

    return {
        "tracks": {"matched": int(matched.sum()), "unmatched": int((~matched).sum())},
        "good": float((fits.status == 0).mean()),
        "chi2_median": {
            "matched": float(np.median(chi2[matched])),
            "unmatched": float(np.median(chi2[~matched])),
        },
        "unmatched_kept": {
            "fit": kept(chi2),
            "parabola": kept(curves),
            "parabola and line": kept(curves + lines),
        },
        "momentum": [
            _ratio(ratio[matched & (p > 1e3 * low) & (p < 1e3 * high)], low, high)
            for low, high in pairwise(EDGES)
        ],
    }


def _ratio(ratio: F64, low: float, high: float) -> dict[str, float]:
    lower, middle, upper = np.quantile(ratio, [0.16, 0.5, 0.84])
    width = float((upper - lower) / 2)
    return {
        **{"p_min": low, "p_max": high, "n": len(ratio), "median": float(middle), "core": width},
        "error": width / len(ratio) ** 0.5,
    }


def table(figures: dict[str, Any]) -> str:
    """Return the figures of each kind by momentum as a table in Markdown."""
    lines = [
        "| | p [GeV] | tracks | core of δp/p [%] | over full | bias of q/p [%] | pulls of x, y, tx, ty, q/p |"
    ]
    lines.append("|---" * 7 + "|")
    for kind, of in figures["kinds"].items():
        # Long tracks without UT hits have their own page.
        for one in of["momentum"] if kind in KINDS else ():
            if one["p_min"] < SHOWN_FROM or one["n"] < FEWEST:
                continue
            pulls = ", ".join(f"{one['pulls'][name]['width']:.2f}" for name in ("x", "y", "tx", "ty", "qop"))
            over = f"{one['core_over_full']:.3f} ± {one['core_over_full_error']:.3f}"
            bias = f"{100 * one['qop_bias']:+.3f} ± {100 * one['qop_bias_error']:.3f}".replace("-", "−")
            momentum = f"{one['p_min']:g}–{one['p_max']:g}"
            lines.append(
                f"| {kind} | {momentum} | {one['n']} | {100 * one['core']:.3f} | {over} | {bias} | {pulls} |"
            )
    return "\n".join(lines)


def searches(figures: dict[str, Any]) -> str:
    """Return what the search finds of each kind as a table in Markdown."""
    lines = [
        "| | candidates | ghosts | of these kept by χ² | particles found, 3–5, 5–10, 10–20 GeV |",
        "|---" * 5 + "|",
    ]
    for kind, of in figures["kinds"].items():
        if "search" not in of:
            continue
        found = of["search"]
        shares = {one["p_min"]: _percent(one, "efficiency") for one in found["efficiency"]}
        kept = _percent(found["chi2"]["working_point"], "ghost") if "chi2" in found else "–"
        bins = ", ".join(shares[low] for low in (3, 5, 10))
        lines.append(f"| {kind} | {found['candidates']} | {_percent(found, 'ghosts')} | {kept} | {bins} |")
    return "\n".join(lines)


def _percent(figures: dict[str, float], name: str) -> str:
    return f"{100 * figures[name]:.1f} ± {100 * figures[f'{name}_error']:.1f} %"


def lhcb_table(found: dict[str, Any]) -> str:
    """Return the comparison with LHCb's momenta as a table in Markdown."""
    lines = ["| p [GeV] | tracks | median of p over LHCb's p | 68 % about it |", "|---" * 4 + "|"]
    for one in found["momentum"]:
        median, error = one["median"], one["error"]
        momentum, width = f"{one['p_min']:g}–{one['p_max']:g}", f"{100 * one['core']:.2f} %"
        lines.append(f"| {momentum} | {one['n']} | {median:.4f} ± {error:.4f} | {width} |")
    chi2, kept = found["chi2_median"], found["unmatched_kept"]
    shares = [f"{100 * kept[name]:.0f} %" for name in ("fit", "parabola", "parabola and line")]
    lines += [
        "",
        f"The median χ²/ndof is {chi2['matched']:.2f} for matched tracks and {chi2['unmatched']:.2f} for the"
        f" others. A cut on χ² that keeps 90 % of the matched ones keeps {shares[0]} of the others; of a"
        f" parabola in the SciFi alone {shares[1]}, of parabola and line together {shares[2]}.",
    ]
    return "\n".join(lines)


def main() -> None:
    command = parser(__doc__, run="results/default")
    command.add_argument("--lhcb", type=Path, help="tree of downstream tracks")
    options = command.parse_args()
    measured = read_json(options.run / "validation.json")["kinds"]
    figures: dict[str, Any] = {"kinds": {name: of_kind(of) for name, of in measured.items()}}
    print(table(figures), searches(figures), sep="\n\n")
    if options.lhcb:
        figures["lhcb"] = downstream_of_lhcb(options.run, options.lhcb)
        print(lhcb_table(figures["lhcb"]))
    write(options.json, figures)


if __name__ == "__main__":
    main()
