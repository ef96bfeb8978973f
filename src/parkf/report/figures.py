"""Figures as inline SVG, one style for all pages."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler

mpl.use("svg")
from matplotlib import mathtext
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from parkf.training.result import Profile

FIT_NAMES = {
    "parkf": "ParKF (smoother)",
    "parkf_robust": "ParKF, robust",
    "paper_scheme": "paper's scheme",
    "velo_only": "VELO only",
    "full": "full fit",
}
COMPONENTS = {"x": "x", "y": "y", "tx": "$t_x$", "ty": "$t_y$", "qop": "q/p"}
# Okabe and Ito's palette: distinct for colour-blind readers and in print.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLE = {
    "font.size": 10,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=_COLOURS),
    "legend.frameon": False,
    "svg.hashsalt": "parkf",  # the same input gives the same bytes
}
# Inches that a panel leaves free for its labels: left, right, bottom, top. A layout that matplotlib looks for
# itself takes longer than all the drawing.
_MARGINS = (0.62, 0.18, 0.5, 0.12)


class Figure:
    """A figure being drawn; its SVG text afterwards."""

    svg: str
    axes: Sequence[Axes]


@contextmanager
def figure(
    columns: int = 1,
    *,
    width: float = 4.6,
    height: float = 3.2,
    margins: tuple[float, float, float, float] = _MARGINS,
) -> Iterator[Figure]:
    """Yield a :class:`Figure` of `columns` panels, `width` × `height` inches each.

    `margins` are inches that each panel leaves free on its left, right, bottom and top.
    """
    left, right, bottom, top = margins
    total = width * columns
    with plt.style.context(_STYLE):
        canvas, axes = plt.subplots(1, columns, figsize=(total, height), squeeze=False)
        canvas.subplots_adjust(
            left=left / total,
            right=1 - right / total,
            bottom=bottom / height,
            top=1 - top / height,
            wspace=(left + right) / (width - left - right),
        )
        drawn = Figure()
        drawn.axes = list(axes[0])
        try:
            yield drawn
            buffer = io.StringIO()
            canvas.savefig(buffer, format="svg", metadata={"Date": None})
        finally:
            plt.close(canvas)
    text = buffer.getvalue()
    drawn.svg = text[text.index("<svg") :]


def _momentum_axis(axes: Axes, label: str = "p [GeV]") -> None:
    axes.set(xscale="log", xlabel=label)
    axes.set_xticks([2, 5, 10, 20, 50, 100], labels=["2", "5", "10", "20", "50", "100"])
    axes.minorticks_off()


def momentum(fits: Mapping[str, Any], names: Mapping[str, str] = FIT_NAMES) -> str:
    """Draw momentum resolution and bias against momentum, with the names that the legend has for fits."""
    with figure(2) as drawn:
        for quantity, axes in zip(("core", "bias"), drawn.axes, strict=True):
            for name, fit in fits.items():
                bins = fit["momentum"]
                centre = [np.sqrt(b["p_min"] * b["p_max"]) for b in bins]
                axes.errorbar(
                    centre,
                    [100 * b[quantity] for b in bins],
                    yerr=[100 * b[f"{quantity}_error"] for b in bins],
                    xerr=[
                        [c - b["p_min"] for c, b in zip(centre, bins, strict=True)],
                        [b["p_max"] - c for c, b in zip(centre, bins, strict=True)],
                    ],
                    fmt="o",
                    markersize=4,
                    label=names[name],
                )
            _momentum_axis(axes, "true p [GeV]")
        drawn.axes[0].set(ylabel="core width of δp/p [%]", ylim=(0, None))
        drawn.axes[1].set(ylabel="core mean of δp/p [%]")
        drawn.axes[1].axhline(0, color="grey", lw=0.8)
        drawn.axes[0].legend()
    return drawn.svg


def pulls(fits: Mapping[str, Any]) -> str:
    """Draw the pull distributions of the five parameters with the unit Gaussian."""
    with figure(5, width=2.5, height=2.6) as drawn:
        for component, axes in zip(COMPONENTS, drawn.axes, strict=True):
            for name, fit in fits.items():
                histogram = fit["histograms"]["pulls"][component]
                axes.stairs(histogram["content"], histogram["edges"], label=FIT_NAMES[name])
            edges = np.array(histogram["edges"])
            centre = (edges[1:] + edges[:-1]) / 2
            unit = np.exp(-(centre**2) / 2) / np.sqrt(2 * np.pi) * (edges[1] - edges[0])
            axes.plot(centre, unit, "--", color="grey", lw=1, label="unit Gaussian")
            axes.set(xlabel=f"pull of {COMPONENTS[component]}", yticks=[])
        drawn.axes[0].legend(fontsize=7)
    return drawn.svg


def ghosts(fits: Mapping[str, Any]) -> str:
    """Draw χ²/ndof of genuine tracks and ghosts, and the ROC curves."""
    with figure(2) as drawn:
        chi2, roc = drawn.axes
        for kind, colour in (("genuine", _COLOURS[0]), ("ghost", _COLOURS[1])):
            histogram = fits["parkf"]["histograms"]["chi2"][kind]
            chi2.stairs(histogram["content"], histogram["edges"], color=colour, fill=True, alpha=0.25)
            chi2.stairs(histogram["content"], histogram["edges"], color=colour, label=kind)
        chi2.set(xlabel="χ²/ndof (ParKF)", ylabel="share of candidates a bin")
        chi2.legend()
        for name, fit in fits.items():
            roc.plot(*_roc(fit), label=FIT_NAMES[name])
        roc.plot(*_roc(fits["parkf"]["separation"]), "--", color=_COLOURS[0], label="ParKF, pieces apart")
        roc.plot([0.91], [0.29], "*", color="black", markersize=9, label="paper: 91 %, 29 %")
        roc.set(xlabel="genuine efficiency", ylabel="ghost efficiency", xlim=(0.6, 1), ylim=(0, 1))
        roc.legend()
    return drawn.svg


def _roc(measured: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Efficiencies of genuine tracks and of ghosts."""
    return [point["genuine"] for point in measured["roc"]], [point["ghost"] for point in measured["roc"]]


def pull_widths(fits: Mapping[str, Any]) -> str:
    """Draw the pull widths of the five parameters against momentum."""
    with figure(5, width=2.5, height=2.6) as drawn:
        for component, axes in zip(COMPONENTS, drawn.axes, strict=True):
            for name, fit in fits.items():
                bins = fit["momentum"]
                widths = [b["pulls"][component] for b in bins]
                axes.errorbar(
                    [np.sqrt(b["p_min"] * b["p_max"]) for b in bins],
                    [width["width"] for width in widths],
                    yerr=[width["width_error"] for width in widths],
                    fmt="o-",
                    markersize=3,
                    lw=0.8,
                    label=FIT_NAMES[name],
                )
            axes.axhspan(0.95, 1.05, color="grey", alpha=0.15, lw=0)
            _momentum_axis(axes, "true p [GeV]")
            axes.set(ylabel=f"pull width of {COMPONENTS[component]}", ylim=(0.6, 1.6))
        drawn.axes[0].legend(fontsize=7)
    return drawn.svg


def impact(fits: Mapping[str, Any]) -> str:
    """Draw resolution and pull of the impact parameters against 1/pT."""
    with figure(4, width=3.0, height=2.8) as drawn:
        for quantity, axes in zip(("x", "y", "pull_x", "pull_y"), drawn.axes, strict=True):
            scale = 1.0 if quantity.startswith("pull") else 1000.0
            for name, fit in fits.items():
                bins = fit["impact"]
                axes.errorbar(
                    [(b["low"] + b["high"]) / 2 for b in bins],
                    [scale * b[quantity] for b in bins],
                    yerr=[scale * b[f"{quantity}_error"] for b in bins],
                    fmt="o",
                    markersize=3,
                    label=FIT_NAMES[name],
                )
            axis = quantity[-1]
            label = f"pull width of IP$_{axis}$" if scale == 1 else f"resolution of IP$_{axis}$ [µm]"
            axes.set(xlabel="1/pT [1/GeV]", ylabel=label, ylim=(0, None if scale > 1 else 1.6))
        drawn.axes[0].legend(fontsize=7)
    return drawn.svg


def masses(fits: Mapping[str, Any]) -> str:
    """Draw the mass peaks of every fit that has them, with the double Gaussians."""
    titles = {"jpsi": "$J/\\psi\\to\\mu\\mu$", "d0": "$D^0\\to K\\pi$"}
    with figure(len(titles), height=3.2, margins=(0.7, 0.18, 0.5, 0.3)) as drawn:
        for (signal, title), axes in zip(titles.items(), drawn.axes, strict=True):
            for colour, (name, fit) in zip(_COLOURS, fits.items(), strict=False):
                peak = fit["masses"][signal]
                edges = np.array(peak["histogram"]["edges"])
                label = f"{FIT_NAMES[name]}: {peak['width']:.1f} MeV"
                axes.stairs(peak["histogram"]["content"], edges, color=colour, lw=0.8, label=label)
                mass = np.linspace(edges[0], edges[-1], 400)
                shape = sum(
                    share / width * np.exp(-0.5 * ((mass - peak["mean"]) / width) ** 2)
                    for share, width in ((peak["share"], peak["narrow"]), (1 - peak["share"], peak["wide"]))
                )
                scale = peak["n"] * (edges[1] - edges[0]) / np.sqrt(2 * np.pi)
                axes.plot(mass, scale * shape, color=colour, lw=1.2)
            axes.set(title=title, xlabel="mass [MeV]", ylabel="pairs a bin")
            axes.legend(fontsize=7)
    return drawn.svg


def table_accuracy(rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw 68% and 99% of |table − target| against momentum for the four components."""
    units = {"x": ("mm", 1.0), "y": ("mm", 1.0), "tx": ("mrad", 1e3), "ty": ("mrad", 1e3)}
    with figure(4, width=3.0, height=2.8) as drawn:
        for (component, (unit, scale)), axes in zip(units.items(), drawn.axes, strict=True):
            chosen = [row for row in rows if row["component"] == component]
            centre = [np.sqrt(row["p_min"] * row["p_max"]) for row in chosen]
            for quantity, label in (("q68", "68 %"), ("q99", "99 %")):
                axes.plot(centre, [scale * row[quantity] for row in chosen], "o-", ms=4, label=label)
            _momentum_axis(axes)
            axes.set(yscale="log", ylabel=f"|δ{component}| [{unit}]")
        drawn.axes[0].legend()
    return drawn.svg


def profiles(shown: Sequence[Profile]) -> str:
    """Draw mean (line) and RMS (band) of δ_par/σ_MS of the four components against each variable."""
    units = {"p": "p [GeV]", "x": "x [mm]", "y": "y [mm]", "tx": "$t_x$", "ty": "$t_y$"}
    with figure(len(shown), width=2.6, height=2.3) as drawn:
        for profile, axes in zip(shown, drawn.axes, strict=True):
            edges = np.array(profile.edges)
            for colour, (component, mean) in zip(_COLOURS, profile.mean.items(), strict=False):
                label = COMPONENTS[component]
                axes.stairs(mean, edges, baseline=None, color=colour, lw=1, label=label)
                axes.stairs(profile.rms[component], edges, baseline=None, color=colour, lw=0.8, ls=":")
            axes.axhline(0, color="grey", lw=0.8)
            axes.set(xlabel=units[profile.variable])
            if profile.variable == "p":
                axes.set(xscale="log", ylabel="δ / σ")
        drawn.axes[0].legend(fontsize=7, ncols=2)
    return drawn.svg


def formula(latex: str) -> str:
    """Typeset one line of LaTeX."""
    with plt.rc_context({"svg.hashsalt": "parkf", "mathtext.fontset": "cm"}):
        buffer = io.StringIO()
        mathtext.math_to_image(f"${latex}$", buffer, format="svg", dpi=110)
    text = buffer.getvalue()
    # The image carries a date otherwise, and two equal runs would differ.
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text[text.index("<svg") :]
