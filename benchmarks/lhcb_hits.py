"""A set on hits of LHCb's full simulation, beside the embedded simulation of the same geometry.

Run: python -m benchmarks.lhcb_hits [RUN] [--json FILE]

RUN has hits of LHCb, as `parkf run fullsim`. Resolutions are those of tracks from 5 to 20 GeV, pulls those of
all tracks, and ghosts those of found segments. This prints the table of docs/explanation/lhcb_hits.md.
"""

from pathlib import Path
from typing import Any

from benchmarks.command import parser, write

from parkf.io.files import read_json
from parkf.report.likeness import search_figures

SAMPLES = {"embedded": "validation_down", "lhcb": "lhcb_down"}
P_MIN, P_MAX = 5.0, 20.0  # GeV
FITS = {"": "parkf", "the same, robust fit": "parkf_robust", "the same, full fit": "full"}
P_BINS = ("2_3", "3_5", "5_10", "10_20", "20_100")  # GeV


def figures_of(run: Path) -> dict[str, Any]:
    """Return the figures of both samples, each a value and its error."""
    return {name: _sample(run / "likeness", of) for name, of in SAMPLES.items()}


def _sample(folder: Path, sample: str) -> dict[str, Any]:
    fits = {name: read_json(folder / f"{name}-{sample}.json") for name in FITS.values()}
    (momentum,) = (one for one in fits["parkf"]["momentum"] if (one["p_min"], one["p_max"]) == (P_MIN, P_MAX))
    found, truth = (
        search_figures(read_json(folder / f"{name}-{sample}.json")) for name in ("found", "truth")
    )
    searched = ("ghosts", "kept", "cut", *(f"efficiency_p_{one}" for one in P_BINS))
    return {
        **{name: _pair(momentum, name) for name in ("core", "width68", "width95", "bias")},
        "pulls": {
            name: [_pair(of["pulls"]["qop"], width) for width in ("width", "width95")]
            for name, of in fits.items()
        },
        "found": {name: [found[name]["value"], found[name]["error"]] for name in searched},
        "truth": {name: [truth[name]["value"], truth[name]["error"]] for name in ("kept", "cut")},
    }


def _pair(figures: dict[str, float], name: str) -> list[float]:
    return [figures[name], figures[f"{name}_error"]]


def table(figures: dict[str, Any]) -> str:
    """Return both samples as a table in Markdown."""
    samples = [figures[name] for name in SAMPLES]
    lines = ["| figure | definition | embedded | LHCb's hits |", "|---|---|---|---|"]

    def line(figure: str, definition: str, cells: list[str]) -> None:
        lines.append(f"| {figure} | {definition} | {' | '.join(cells)} |")

    line(
        "core of δp/p",
        "width of a Gaussian, fitted to (p − p_true)/p_true within two of its widths; tails do not change it",
        [_told(one["core"], ".3f", 100, " %") for one in samples],
    )
    line(
        "68 % and 95 % width of δp/p",
        "half the length of the central interval, divided by 1 and 1.96: equal to the core for a Gaussian",
        [f"{100 * one['width68'][0]:.3f}, {100 * one['width95'][0]:.3f} %" for one in samples],
    )
    line("bias of δp/p", "mean of that Gaussian", [_told(one["bias"], "+.3f", 100, " %") for one in samples])
    for text, name in FITS.items():
        line(
            text or "pull of q/p: core; 95 %",
            ""
            if text
            else "(fit − truth)/σ; 95 % above the core: hits and scatterings that σ does not include",
            ["; ".join(_told(width, ".2f") for width in one["pulls"][name]) for one in samples],
        )
    line(
        "ghosts among candidates of found segments",
        "pairs of segments of two particles",
        [_told(one["found"]["ghosts"], ".1f", 100, " %") for one in samples],
    )
    line(
        "ghosts kept at 91 % by χ²/ndof: segments found; by truth",
        "",
        [
            "; ".join(_told(one[way]["kept"], ".1f", 100, " %") for way in ("found", "truth"))
            for one in samples
        ],
    )
    line(
        "χ²/ndof of that cut: segments found; by truth",
        "tails of genuine tracks raise it",
        ["; ".join(_told(one[way]["cut"], ".2f") for way in ("found", "truth")) for one in samples],
    )
    line(
        "efficiency of the search, 2–3, 3–5, 5–10, 10–20, 20–100 GeV",
        "found among those with enough hits",
        [
            ", ".join(_told(one["found"][f"efficiency_p_{place}"], ".0f", 100) for place in P_BINS) + " %"
            for one in samples
        ],
    )
    return "\n".join(lines)


def _told(pair: list[float], style: str, scale: float = 1, unit: str = "") -> str:
    value, error = (scale * number for number in pair)
    return f"{value:{style}} ± {error:{style.lstrip('+')}}{unit}".replace("-", "−")


def main() -> None:
    options = parser(__doc__, run="results/fullsim").parse_args()
    figures = figures_of(options.run)
    print(table(figures))
    write(options.json, figures)


if __name__ == "__main__":
    main()
