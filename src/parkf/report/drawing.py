"""Figures as data, and as the dictionaries of plain JSON that Plotly draws on a page.

A figure has panels; a panel has series over two axes. The style that all figures share, with the colours of a
light or a dark page, is in ``templates/page.js``.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

# Points, joined points, a line (interrupted where a number is missing), and steps of a histogram.
Shape = Literal["points", "joined", "line", "steps"]
Number = float | None
# Ends of an axis; (0.0, None) has zero and all numbers. None ends at the numbers.
Limits = tuple[float, Number] | None

# Colours that are seen on a light and on a dark page. Each has a marker of its own, for print and for readers
# who cannot distinguish colours.
_MARKERS = (
    ("#0072b2", "circle"),
    ("#d55e00", "square"),
    ("#00916a", "triangle-up"),
    ("#b8508e", "diamond"),
    ("#b57a00", "triangle-down"),
    ("#7a5fd0", "cross"),
    ("#777777", "x"),
)
COLOURS = len(_MARKERS)
_MOMENTA = (2, 5, 10, 20, 50, 100)
# Pixels of a row of panels, and of the legend with the margins; letters in a line above a panel.
_ROW, _MARGIN, _LETTERS = 250, 90, 46


@dataclass(frozen=True)
class Series:
    """Numbers that are drawn in the same way."""

    name: str  # in the legend
    x: Sequence[Number]  # (n,), or (n + 1,) edges of steps
    y: Sequence[Number]  # (n,); what is None or not finite is left out
    error: Sequence[float] | None = None  # of y, (n,)
    reach: Sequence[tuple[float, float]] | None = None  # bin of each number in x, (n,): a horizontal bar
    shape: Shape = "points"
    colour: int = 0  # of the palette, which has COLOURS
    dashed: bool = False
    filled: bool = False  # down to zero; for steps


@dataclass(frozen=True)
class Panel:
    """Series over two axes."""

    x_label: str  # with its unit
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False
    x_limits: Limits = None
    y_limits: Limits = None
    names: Sequence[str] | None = None  # of the positions 0, 1, 2, … in x, where x counts things
    band: tuple[float, float] | None = None  # drawn grey in y: where numbers should be
    levels: Sequence[float] = ()  # thin lines in y


@dataclass(frozen=True)
class Drawn:
    """A figure, with the texts below it."""

    name: str  # of its files, without ending
    title: str  # what is drawn, for readers who do not see it
    panels: Sequence[Panel]
    see: str = ""  # what to look at
    good: str = ""  # what a good figure looks like
    otherwise: str = ""  # what to do where it is not good

    @property
    def height(self) -> int:
        """Pixels of the figure."""
        return _ROW * self._rows + _MARGIN

    @property
    def _columns(self) -> int:
        return 2 if len(self.panels) in (2, 4) else min(len(self.panels), 3)

    @property
    def _rows(self) -> int:
        return math.ceil(len(self.panels) / self._columns)

    @property
    def plot(self) -> dict[str, Any]:
        """Return ``data`` and ``layout`` for Plotly."""
        grid = {"rows": self._rows, "columns": self._columns, "pattern": "independent"}
        layout: dict[str, Any] = {"grid": grid, "height": self.height, "shapes": [], "annotations": []}
        data: list[dict[str, Any]] = []
        named: set[str] = set()
        for number, panel in enumerate(self.panels, start=1):
            place = "" if number == 1 else str(number)
            layout[f"xaxis{place}"] = _axis(panel.x_label, panel.x_limits, panel.x_log, panel.names)
            layout[f"yaxis{place}"] = _axis("", panel.y_limits, panel.y_log)
            layout["annotations"].append(_heading(panel.y_label, place))
            across = {"xref": f"x{place} domain", "yref": f"y{place}", "x0": 0, "x1": 1, "layer": "below"}
            if panel.band:
                low, high = panel.band
                grey = {"fillcolor": "#888888", "opacity": 0.2, "line": {"width": 0}}
                layout["shapes"].append({**across, **grey, "type": "rect", "y0": low, "y1": high})
            for level in panel.levels:
                thin = {"type": "line", "line": {"color": "#888888", "width": 1}}
                layout["shapes"].append({**across, **thin, "y0": level, "y1": level})
            for one in panel.series:
                # A name is once in the legend, and switches all series of this name.
                first = len(panel.series) > 1 and one.name not in named
                named |= {one.name} if first else set()
                axes = {"xaxis": f"x{place}", "yaxis": f"y{place}", "showlegend": first}
                data.append({**_trace(one, panel.names), **axes})
        return {"data": data, "layout": layout}


def _heading(text: str, place: str) -> dict[str, Any]:
    """Return the label of a panel's y axis above the panel, where it can be read and has room."""
    at = {"xref": f"x{place} domain", "yref": f"y{place} domain", "x": 0, "y": 1}
    anchor = {"xanchor": "left", "yanchor": "bottom", "align": "left", "showarrow": False}
    return {**at, **anchor, "text": "<br>".join(textwrap.wrap(text, _LETTERS))}


def _axis(label: str, limits: Limits, log: bool, names: Sequence[str] | None = None) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": label}}
    if names is not None:
        return axis | {
            "tickvals": [*range(len(names))],
            "ticktext": [*names],
            "range": [-0.5, len(names) - 0.5],
        }
    if log:
        momenta = {"tickvals": _MOMENTA, "ticktext": [*map(str, _MOMENTA)]}
        axis |= {"type": "log", **(momenta if label.endswith("p [GeV]") else {"dtick": 1})}
    if limits is not None:
        low, high = limits
        axis |= {"rangemode": "tozero"} if high is None else {"range": [low, high]}
    return axis


def _trace(one: Series, names: Sequence[str] | None) -> dict[str, Any]:
    colour, symbol = _MARKERS[one.colour % COLOURS]
    marked = "markers" if one.shape == "points" else "lines+markers"
    mode = "lines" if one.shape in ("line", "steps") else marked
    trace: dict[str, Any] = {
        "name": one.name,
        "legendgroup": one.name,
        "mode": mode,
        "x": [*map(_short, one.x)],
        "y": [*map(_short, one.y)],
        "marker": {"color": colour, "symbol": symbol, "size": 7},
        "line": {"color": colour, "width": 1.5},
    }
    if one.shape == "steps":
        trace["line"]["shape"] = "hv"
        trace["y"] += trace["y"][-1:]
    if one.dashed:
        trace["line"]["dash"] = "dash"
    if one.filled:
        trace["fill"] = "tozeroy"
    bar = {"color": colour, "thickness": 1.2, "width": 0}
    if one.error is not None:
        trace["error_y"] = {"array": [*map(_short, one.error)], **bar}
    if one.reach is not None:
        far = [(x - low, high - x) for x, (low, high) in zip(one.x, one.reach, strict=True) if x is not None]
        ends = {"arrayminus": [_short(down) for down, _ in far], "array": [_short(up) for _, up in far]}
        trace["error_x"] = {"symmetric": False, **ends, **bar}
    if names is not None:
        trace["text"] = [names[round(x)] for x in one.x if x is not None]
        trace["hoverinfo"] = "text+y+name"
    return trace


def _short(value: Number) -> Number:
    """Round to float32's digits, and replace NaN, which JSON does not have, by None."""
    if value is None:
        return None
    return float(f"{value:.7g}") if math.isfinite(value) else None
