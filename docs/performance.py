"""Writes how good the newest published sets are: headline figures, plots, and all of their gates.

Called by docs/generate.py. The numbers come from the manifests in params/ and from benchmarks/results/.
"""

import json
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
FORMS = {"production": "the trigger's forms", "improved": "better forms"}
_COLOURS = {"production": "#2b7bd9", "improved": "#d9482b"}
HEADLINES = (
    "core of δp/p, 5–50 GeV",
    "core of δp/p over the full fit's, 3–100 GeV",
    "bias of δp/p, 3–100 GeV",
    "pull widths of q/p from 3 to 100 GeV",
    "in the trigger, pull width of q/p",
    "in the trigger, bias of δp/p, 1.5–100 GeV",
    "ghosts kept at 91 % genuine efficiency",
    "tracks lost from 1.5 GeV",
)
_SCORES = {"chi2": "χ²/ndof", "score": "ghost score", "score_kinematic": "ghost score\nwith p and η"}
_SCORE_BARS = {"score": 8.0, "score_kinematic": 5.0}


def newest() -> dict[str, dict[str, Any]]:
    """Return the newest published manifest of each set of forms."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((ROOT / "params").glob("*/manifest.json")):
        manifest = json.loads(path.read_text())
        if manifest.get("gates"):
            found[manifest["forms"]] = manifest
    return {forms: found[forms] for forms in FORMS}


def gate_rows(wanted: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """List gates, or those wanted, as rows of a table: figure, measured for each set of forms, bar."""
    sets = [{gate["what"]: gate for gate in one["gates"]} for one in newest().values()]
    for what in wanted or sets[-1]:
        gates = [of.get(what) for of in sets]
        # All bars give way by three errors, which the page says once.
        bar = next(gate["bar"] for gate in gates if gate).removesuffix(", give or take 3 errors")
        yield (what, *(_marked(gate) if gate else "—" for gate in gates), bar)


def _marked(gate: dict[str, Any]) -> str:
    return str(gate["measured"]) if gate["met"] else f"**missed:** {gate['measured']}"


def speed() -> dict[str, Any]:
    """Return the figures of the fitter's benchmark."""
    return dict(json.loads((ROOT / "benchmarks/results/fitter.json").read_text()))


def table_plot() -> str:
    """Draw the misfit of the magnet table by momentum, with its bars."""
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for forms, manifest in newest().items():
        gates = [
            gate for gate in manifest["gates"] if gate["what"].startswith("magnet table, 68 % of |δx|, ")
        ]
        gates = [gate for gate in gates if gate["what"].endswith(" GeV")]
        labels = [gate["what"].rpartition(", ")[2] for gate in gates]
        values = [1000 * gate["value"] for gate in gates]
        axes.plot(labels, values, "o-", color=_COLOURS[forms], label=FORMS[forms])
    axes.plot(labels, [1000 * gate["at_most"] for gate in gates], "k_", markersize=26, label="asked for")
    axes.set(yscale="log", ylabel="68 % of |δx| behind the magnet / µm", xlabel="momentum")
    axes.legend(frameon=False)
    return _svg(figure)


def inside_plot() -> str:
    """Draw |δx| of states inside the magnet over the scattering, by momentum and target."""
    states = json.loads((ROOT / "benchmarks/results/slices.json").read_text())["states"]
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for z, colour in ((7000, "#2b7bd9"), (5000, "#d9482b"), (3000, "#2a9d4b")):
        rows = [one for one in states if one["z"] == z and one["component"] == "x"]
        middles = [(one["p_min"] * one["p_max"]) ** 0.5 for one in rows]
        for quantile, style in (("q68", "o-"), ("q99", "s--")):
            ratios = [one[quantile] / one["sigma"] for one in rows]
            axes.plot(middles, ratios, style, color=colour, label=f"{quantile[1:]} %, z = {z / 1000:g} m")
    for bar in (0.1, 1.0):
        axes.axhline(bar, color="#888", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="p [GeV]", ylabel="|δx| / scattering")
    axes.minorticks_off()
    ticks = (2, 5, 10, 20, 50, 100)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.legend(frameon=False, fontsize=8, ncols=3)
    return _svg(figure)


def calibration_plot() -> str:
    """Draw the displacements along x that a calibration found, against the true ones."""
    shifts = json.loads((ROOT / "benchmarks/results/calibrate.json").read_text())["alignment"]["shifts"]
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for section, name, colour in (
        ("velo_modules", "VELO modules", "#2b7bd9"),
        ("ut_layers", "UT layers", "#2a9d4b"),
        ("scifi_layers", "SciFi layers", "#d9482b"),
    ):
        rows = [i for i, one in enumerate(shifts["names"]) if one.startswith(section) and one.endswith(" x")]
        true, value, error = ([1e3 * shifts[key][i] for i in rows] for key in ("true", "value", "error"))
        axes.errorbar(true, value, error, fmt="o", markersize=3, color=colour, label=name)
    axes.axline((0, 0), slope=1, color="#888", linewidth=0.8)
    axes.set(xlabel="true displacement along x [µm]", ylabel="found [µm]")
    axes.legend(frameon=False, fontsize=8)
    return _svg(figure)


def ghost_plot() -> str:
    """Draw the ghosts kept by each discriminant, on embedded hits and on LHCb's."""
    results = json.loads((ROOT / "benchmarks/results/ghosts.json").read_text())
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for shift, sample, name in (
        (-0.12, "embedded", "embedded simulation"),
        (0.12, "lhcb", "LHCb's simulation"),
    ):
        kept = [results[sample][score]["all"] for score in _SCORES]
        axes.errorbar(
            [number + shift for number in range(len(kept))],
            [one["kept"] for one in kept],
            yerr=[one["error"] for one in kept],
            fmt="o",
            color=_COLOURS["production" if sample == "embedded" else "improved"],
            label=name,
        )
    for number, score in enumerate(_SCORES):
        if score in _SCORE_BARS:
            axes.hlines(
                _SCORE_BARS[score], number - 0.3, number + 0.3, color="k", label="asked for" * (number == 1)
            )
    axes.set(
        xticks=range(len(_SCORES)), xticklabels=_SCORES.values(), ylabel="ghosts kept / %", ylim=(0, None)
    )
    axes.legend(frameon=False)
    return _svg(figure)


def speed_plot() -> str:
    """Draw the tracks a second of one core, by the kernel's build and the precision."""
    measured = speed()["cpu"]
    figure, axes = plt.subplots(figsize=(7, 2.8))
    for shift, precision, colour in (
        (-0.2, "float32", _COLOURS["production"]),
        (0.2, "float64", _COLOURS["improved"]),
    ):
        builds = measured[precision]["builds"]
        places = [number + shift for number in range(len(builds))]
        axes.barh(places, [rate / 1e6 for rate in builds.values()], 0.38, color=colour, label=precision)
    axes.set(yticks=range(len(builds)), yticklabels=builds, xlabel="million tracks a second on one core")
    axes.invert_yaxis()
    axes.legend(frameon=False)
    return _svg(figure)


def displaced_plot() -> str:
    """Draw the ty pull by impact parameter, of fits that are told where tracks were born and of others."""
    bins = json.loads((ROOT / "benchmarks/results/displaced.json").read_text())["bins"][
        "impact parameter, mm"
    ]
    names = {"vertex": "from the beam", "told": "told that it was born behind the foil"}
    figure, axes = plt.subplots(figsize=(7, 3.2))
    for (key, name), colour in zip(names.items(), _COLOURS.values(), strict=True):
        pulls = [one["ty"][key] for one in bins]
        widths, errors = [one["width"] for one in pulls], [one["width_error"] for one in pulls]
        axes.errorbar(range(len(bins)), widths, yerr=errors, fmt="o", color=colour, label=name)
    axes.axhline(1, color="k", linewidth=0.8)
    labels = [f"{one['low']:g}–{one['high']:g}" for one in bins]
    axes.set(
        xticks=range(len(bins)),
        xticklabels=labels,
        xlabel="impact parameter / mm",
        ylabel="width of the ty pull",
    )
    axes.legend(frameon=False)
    return _svg(figure)


def electrons_plot() -> str:
    """Draw residuals of electrons with ln p uniform, and the mass of J/ψ → ee, of both fits."""
    found = json.loads((ROOT / "benchmarks/results/electrons.json").read_text())["fits"]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for axis, of, x, y in (
        (axes[0], found["uniform"], "(p − p$_{true}$)/p$_{true}$", "electrons, ln p uniform"),
        (axes[1], found["peaks"]["jpsi-ee"], "mass / MeV", "pairs, J/ψ → ee"),
    ):
        for kind, name, colour in (
            ("pion_", "fitted as pions", _COLOURS["production"]),
            ("", "fitted as electrons", _COLOURS["improved"]),
        ):
            histogram = of["histogram"]
            axis.stairs(histogram[f"{kind}content"], histogram["edges"], color=colour, label=name)
        axis.set(xlabel=x, ylabel=y)
    axes[0].set_xticks(np.linspace(-1, 1, 5))
    axes[0].legend(frameon=False)
    return _svg(figure)


def _svg(figure: Any) -> str:
    """Return a figure as SVG text, the same bytes each time."""
    file = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "parkf", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
