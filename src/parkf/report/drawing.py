"""Figures as data, and the same data as inline SVG, CSV and JSON.

A figure is a row of panels; a panel has series over two axes. Colours are classes of the page's style sheet,
so that a figure changes with the page to dark mode. Text is drawn as text. Each series has its own marker as
well as its colour, for print and for readers who cannot distinguish the colours.
"""

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import chain, pairwise
from typing import Any, Literal, TypeGuard

from parkf.report.picture import Picture, label

# Points, joined points, a line (interrupted where a number is missing), steps of a histogram, small dots.
Shape = Literal["points", "joined", "line", "steps", "dots"]
Number = float | None
Limits = tuple[Number, Number]

_WIDTH, _HEIGHT = 320.0, 230.0
# Pixels at which the axes end; the rest of a panel is for labels.
_LEFT, _RIGHT, _TOP, _FOOT = 46.0, 310.0, 24.0, 192.0
# Letters in a line above a panel; a longer title has two lines.
_TITLE = 48
# Room that an inclined name needs along an axis.
_INCLINED = 26.0
# Room that a marker needs beyond the axes.
_EDGE = 4.0
_TICKS = 5
_MOMENTA = (2, 5, 10, 20, 50, 100)
# SVG path of each colour's marker, from its middle.
_MARKERS = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "m-2.7-2.7h5.4v5.4h-5.4z",
    "m0-3.6l3.4 6h-6.8z",
    "m0-3.8l3.4 3.8l-3.4 3.8l-3.4-3.8z",
    "m0 3.6l3.4-6h-6.8z",
    "m-3-1h2v-2h2v2h2v2h-2v2h-2v-2h-2z",
    "m-2.5-2.5h5v5h-5z",
)
COLOURS = len(_MARKERS)
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True)
class Series:
    """Numbers that are drawn in the same way."""

    name: str  # in the legend
    x: Sequence[float]  # (n,), or (n + 1,) edges of steps
    y: Sequence[Number]  # (n,); what is None or not finite is left out
    error: Sequence[float] | None = None  # of y, (n,)
    reach: Sequence[tuple[float, float]] | None = None  # bin of each number in x, (n,): a horizontal bar
    shape: Shape = "points"
    colour: int = 0  # of the palette, which has COLOURS
    dashed: bool = False
    filled: bool = False  # down to zero; for steps


@dataclass(frozen=True)
class Panel:
    """Series over two axes. If a limit is None, the axis ends at the last number."""

    x_label: str  # with its unit
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False
    x_limits: Limits = (None, None)
    y_limits: Limits = (None, None)
    names: Sequence[str] | None = None  # of the positions 0, 1, 2, … in x, where x counts things
    band: tuple[float, float] | None = None  # drawn grey in y: where numbers should be
    levels: Sequence[float] = ()  # thin lines in y


@dataclass(frozen=True)
class Drawn:
    """A figure. Name, title and texts are the same as in its :class:`parkf.report.picture.Picture`."""

    name: str
    title: str
    panels: Sequence[Panel]
    see: str = ""
    good: str = ""
    otherwise: str = ""
    small: bool = False  # many panels side by side

    @property
    def legend(self) -> list[tuple[str, int, bool]]:
        """Name and colour of each series, and whether it is dashed; each name occurs once."""
        found = {one.name: (one.name, one.colour, one.dashed) for p in self.panels for one in p.series}
        return list(found.values())

    @cached_property
    def _contents(self) -> list[str]:
        """What is drawn in each panel, as SVG."""
        return [_content(panel) for panel in self.panels]

    @property
    def svgs(self) -> list[str]:
        """A picture of each panel, for a page."""
        labels = ((f"{p.y_label} against {p.x_label}" if p.x_label else p.y_label) for p in self.panels)
        return [
            f'<svg class="panel" role="img" aria-label="{escape(text)}"'
            f' viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}">{content}</svg>'
            for text, content in zip(labels, self._contents, strict=True)
        ]

    @property
    def picture(self) -> Picture:
        """All panels as one picture, for files."""
        panels = (
            f'<g transform="translate({number * _WIDTH:g} 0)">{content}</g>'
            for number, content in enumerate(self._contents)
        )
        keys = (
            label(
                f"c{colour} key",
                f"{_LEFT + 110 * (number % 6):g}",
                f"{_HEIGHT + 8 + 11 * (number // 6):g}",
                f"{'╌' if dashed else '■'} {name}",
            )
            for number, (name, colour, dashed) in enumerate(self.legend)
        )
        return Picture(
            self.name,
            self.title,
            _WIDTH * len(self.panels),
            _HEIGHT + 22,
            "".join([*panels, *keys]),
            ["x", "y", "series", "x_value", "x_low", "x_high", "y_value", "y_error"],
            [
                (panel.x_label, panel.y_label, one.name, *row)
                for panel in self.panels
                for one in panel.series
                for row in _rows(panel, one)
            ],
            self.see,
            self.good,
            self.otherwise,
        )

    @property
    def numbers(self) -> list[dict[str, Any]]:
        """Content of each panel as JSON, for the script that draws it enlarged or on other axes."""
        return [
            {
                "x": panel.x_label,
                "y": panel.y_label,
                "names": panel.names,
                "band": panel.band,
                "levels": panel.levels,
                "logs": [panel.x_log, panel.y_log],
                "limits": [panel.x_limits, panel.y_limits],
                "series": [_numbers(one, before) for before, one in pairwise([None, *panel.series]) if one],
            }
            for panel in self.panels
        ]


def _numbers(one: Series, before: Series | None) -> dict[str, Any]:
    """Return a series as JSON; ``x`` is left out if it is the same as in the series before."""
    found: dict[str, Any] = {"name": one.name, "shape": one.shape, "colour": one.colour % COLOURS}
    if before is None or one.x != before.x:
        found["x"] = [*map(_short, one.x)]
    found["y"] = [*map(_short, one.y)]
    if one.error is not None:
        found["error"] = [*map(_short, one.error)]
    if one.reach is not None:
        found["reach"] = one.reach
    return found | {key: True for key in ("dashed", "filled") if getattr(one, key)}


def _is_number(value: Number) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _short(value: Number) -> Number:
    """Round to the visible digits, and replace NaN, which JSON does not have, by None."""
    return float(f"{value:.4g}") if _is_number(value) else None


def _rows(panel: Panel, one: Series) -> Iterator[tuple[object, ...]]:
    """Return position, bin, value and error of each number of a series."""
    for number, value in enumerate(one.y):
        place: object = one.x[number]
        low, high = (None, None) if one.reach is None else one.reach[number]
        if one.shape == "steps":
            low, high = one.x[number], one.x[number + 1]
            place = (low + high) / 2
        if panel.names is not None:
            place = panel.names[round(one.x[number])]
        yield place, low, high, value, None if one.error is None else one.error[number]


@dataclass(frozen=True)
class _Axis:
    """Converts numbers between `low` and `high` to pixels between `begin` and `end`."""

    low: float
    high: float
    log: bool
    begin: float
    end: float

    @classmethod
    def over(
        cls, values: Iterable[Number], limits: Limits, log: bool, begin: float, end: float, room: float
    ) -> "_Axis":
        """End at the limits or, where these are None, beyond the values by the fraction `room`."""
        shown = [v for v in values if _is_number(v) and (not log or v > 0)]
        low, high = min(shown, default=0.1 if log else 0.0), max(shown, default=1.0)
        if log:
            stretch = (high / low) ** room if high > low else 2.0
            low, high = low / stretch, high * stretch
        else:
            stretch = room * (high - low) if high > low else abs(high) / 2 or 1.0
            low, high = low - stretch, high + stretch
        low = low if limits[0] is None else limits[0]
        high = high if limits[1] is None else limits[1]
        return cls(low, high if high > low else low + 1.0, log, begin, end)

    def at(self, value: float) -> float:
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        here = math.log(max(value, 1e-300)) if self.log else value
        fraction = min(max((here - low) / (high - low), -1.0), 2.0)
        return self.begin + fraction * (self.end - self.begin)

    def holds(self, value: float) -> bool:
        return self.low * 0.999 <= value <= self.high * 1.001

    def ticks(self) -> list[float]:
        if not self.log:
            return nice_ticks(self.low, self.high)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1,), (1, 3), (1, 2, 5)):
            found = [tick for p in powers for m in factors if self.holds(tick := m * 10.0**p)]
            if len(found) >= 3:
                break
        return found


def nice_ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers between two."""
    raw = (high - low) / _TICKS
    scale = 10.0 ** math.floor(math.log10(raw))
    step = scale * next(m for m in (1, 2, 2.5, 5, 10) if m * scale >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _axes(panel: Panel) -> tuple[_Axis, _Axis]:
    xs = [v for one in panel.series for v in (*one.x, *chain.from_iterable(one.reach or ()))]
    ys: list[Number] = [*panel.levels, *(panel.band or ()), *(0.0 for one in panel.series if one.filled)]
    for one in panel.series:
        if one.error is None or panel.y_log:
            ys += one.y
        else:
            for value, error in zip(one.y, one.error, strict=True):
                ys += [] if value is None else [value - error, value + error]
    limits = panel.x_limits if panel.names is None else (-0.5, len(panel.names) - 0.5)
    return (
        _Axis.over(xs, limits, panel.x_log, _LEFT, _RIGHT, 0.02),
        _Axis.over(ys, panel.y_limits, panel.y_log, _FOOT, _TOP, 0.05),
    )


def _content(panel: Panel) -> str:
    x, y = _axes(panel)
    titles = textwrap.wrap(panel.y_label, _TITLE)
    parts = [label("yl", 4, 12 if len(titles) == 1 else 9 + 11 * n, line) for n, line in enumerate(titles)]
    if panel.band:
        top, low = y.at(min(panel.band[1], y.high)), y.at(max(panel.band[0], y.low))
        parts.append(
            f'<rect class="band" x="{_LEFT}" y="{top:.1f}" width="{_RIGHT - _LEFT}"'
            f' height="{low - top:.1f}"/>'
        )
    for tick in y.ticks():
        place = y.at(tick)
        parts.append(f'<path class="grid" d="M{_LEFT} {place:.1f}H{_RIGHT}"/>')
        parts.append(label("t", _LEFT - 5, f"{place + 3.5:.1f}", _typeset(tick), ' text-anchor="end"'))
    parts += _x_ticks(panel, x)
    parts.append(label("t", _RIGHT, _HEIGHT - 6, panel.x_label, ' text-anchor="end"'))
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{_FOOT}H{_RIGHT}"/>')
    parts += [f'<path class="level" d="M{_LEFT} {y.at(v):.1f}H{_RIGHT}"/>' for v in panel.levels]
    # A nested SVG element cuts off everything beyond the axes.
    left, top, width, height = (
        _LEFT - _EDGE,
        _TOP - _EDGE,
        _RIGHT - _LEFT + 2 * _EDGE,
        _FOOT - _TOP + 2 * _EDGE,
    )
    return "".join(
        [
            *parts,
            f'<svg x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}"'
            f' viewBox="{left:g} {top:g} {width:g} {height:g}">',
            *(_series(panel, one, x, y) for one in panel.series),
            "</svg>",
        ]
    )


def _x_ticks(panel: Panel, x: _Axis) -> Iterator[str]:
    ticks: list[tuple[float, str]]
    if panel.names is not None:
        ticks = [*enumerate(panel.names)]
    elif panel.x_log and panel.x_label.endswith("[GeV]"):
        ticks = [(p, f"{p}") for p in _MOMENTA if x.holds(p)]
    else:
        ticks = [(tick, _typeset(tick)) for tick in x.ticks()]
    crowded = panel.names is not None and sum(len(name) + 2 for name in panel.names) > 44
    # Where inclined names would lie on each other, some are left out, but not the last one.
    every = math.ceil(len(ticks) * _INCLINED / (_RIGHT - _LEFT)) if crowded else 1
    for value, name in ticks[::-every][::-1]:
        place = x.at(value)
        more = ' text-anchor="middle"'
        if crowded:
            more = f' text-anchor="end" transform="rotate(-24 {place:.1f} {_FOOT + 13})"'
        yield f'<path class="axis" d="M{place:.1f} {_FOOT}v3"/>'
        yield label("t", f"{place:.1f}", _FOOT + 14, name, more)


def _series(panel: Panel, one: Series, x: _Axis, y: _Axis) -> str:
    if one.shape == "steps":
        inside = _steps(one, x, y)
    else:
        points = [
            (x.at(a), y.at(b), number)
            for number, (a, b) in enumerate(zip(one.x, one.y, strict=True))
            if _is_number(b) and (not y.log or b > 0)
        ]
        inside = ""
        if one.shape == "dots":
            inside = f'<path class="d" d="{"".join(f"M{a:.1f} {b:.1f}h0" for a, b, _ in points)}"/>'
        elif one.shape != "points" and points:
            # The line is interrupted where a number was left out.
            known = {number for _, _, number in points}
            path = "".join(f"{'L' if n - 1 in known else 'M'}{a:.1f} {b:.1f}" for a, b, n in points)
            inside = f'<path d="{path}"/>'
        if one.shape in ("points", "joined"):
            inside += "".join(_point(panel, one, x, y, *point) for point in points)
    style = f"s c{one.colour % COLOURS}{' dash' if one.dashed else ''}"
    return f'<g class="{style}" data-s="{escape(one.name)}">{inside}</g>'


def _steps(one: Series, x: _Axis, y: _Axis) -> str:
    path, pen = "", False
    for (low, high), value in zip(pairwise(one.x), one.y, strict=True):
        if _is_number(value) and (not y.log or value > 0):
            path += f"{'V' if pen else f'M{x.at(low):.1f} '}{y.at(value):.1f}H{x.at(high):.1f}"
            pen = True
        else:
            pen = False
    drawn = f'<path d="{path}"/>'
    if one.filled and path:
        drawn += f'<path class="fill" d="{path}V{y.at(0.0):.1f}H{x.at(one.x[0]):.1f}Z"/>'
    return drawn


def _point(panel: Panel, one: Series, x: _Axis, y: _Axis, a: float, b: float, number: int) -> str:
    """Draw a marker at `a` and `b`, with its bars, and with numbers that appear under the pointer."""
    value = one.y[number]
    assert value is not None
    bars, text = "", f"{value:.4g}"
    if one.error is not None:
        error = one.error[number]
        low = max(value - error, y.low) if y.log else value - error
        bars += f"M{a:.1f} {y.at(value + error):.1f}V{y.at(low):.1f}"
        text += f" ± {error:.2g}"
    place = panel.names[round(one.x[number])] if panel.names else f"{one.x[number]:.3g}"
    if one.reach is not None:
        begin, end = one.reach[number]
        bars += f"M{x.at(begin):.1f} {b:.1f}H{x.at(end):.1f}"
        place = f"{begin:g}–{end:g}"
    bar = f'<path d="{bars}"/>' if bars else ""
    mark = f'<path class="m" d="M{a:.1f} {b:.1f}{_MARKERS[one.colour % COLOURS]}">'
    return f"{bar}{mark}<title>{escape(f'{one.name}, {place}: {text}')}</title></path>"


def _typeset(value: float) -> str:
    """Write a number with four digits, a typographic minus, and a power of ten in place of an exponent."""
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    if not exponent:
        return mantissa.replace("-", "−")
    power = f"10{str(int(exponent)).translate(_RAISED)}"
    return power if mantissa == "1" else f"{mantissa}·{power}"
