"""Figures as data, and the same data as inline SVG and as CSV.

A figure is a row of panels, a panel some series over two axes. Colours are classes of the page's style sheet,
so that a figure follows the page into dark mode; text stays text. Each series has a shape of its own besides
its colour, for readers who do not tell colours apart and for print.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any, Literal

from parkf.report.picture import comma_separated, document

Shape = Literal["points", "joined", "line", "steps", "dots"]
Number = float | None

_WIDTH, _HEIGHT = 320.0, 230.0
# Free for labels: left, right, top, bottom.
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 10.0, 24.0, 38.0
# What a marker needs beyond the axes.
_EDGE = 4.0
COLOURS = 7
_TICKS = 5
_MOMENTA = (2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Series:
    """Numbers that are drawn alike.

    Attributes
    ----------
    name : str
        In the legend.
    x : sequence of float
        (n,), or (n + 1,) edges of steps.
    y : sequence of float or None
        (n,); None and what is not finite is left out.
    error : sequence of float, optional
        Of `y`, (n,).
    reach : sequence of (float, float), optional
        From where to where each number holds in x, (n,): drawn as a horizontal bar.
    shape : str
        ``points``, ``joined`` points, a ``line`` (broken where there is no number), ``steps``, or ``dots``.
    colour : int
        Of the palette, which has :data:`COLOURS`.
    dashed : bool
    filled : bool
        Down to zero; for steps.
    """

    name: str
    x: Sequence[float]
    y: Sequence[Number]
    error: Sequence[float] | None = None
    reach: Sequence[tuple[float, float]] | None = None
    shape: Shape = "points"
    colour: int = 0
    dashed: bool = False
    filled: bool = False


@dataclass(frozen=True)
class Panel:
    """Series over two axes.

    Attributes
    ----------
    x_label, y_label : str
        With their units.
    series : sequence of Series
    x_log, y_log : bool
    x_limits, y_limits : (float or None, float or None)
        None: the axis ends where the numbers do.
    names : sequence of str, optional
        Of the places 0, 1, 2, … in x, where x counts things.
    band : (float, float), optional
        Grey in y: where numbers are wanted.
    levels : sequence of float
        Thin lines in y.
    """

    x_label: str
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False
    x_limits: tuple[Number, Number] = (None, None)
    y_limits: tuple[Number, Number] = (None, None)
    names: Sequence[str] | None = None
    band: tuple[float, float] | None = None
    levels: Sequence[float] = ()


@dataclass(frozen=True)
class Drawn:
    """A figure.

    Attributes
    ----------
    name : str
        Of its files, without ending.
    title : str
        What is drawn, for those who do not see it.
    panels : sequence of Panel
    see, good, otherwise : str
        What to look at, what is good, and what to do when it is not.
    small : bool
        Many panels side by side.
    """

    name: str
    title: str
    panels: Sequence[Panel]
    see: str = ""
    good: str = ""
    otherwise: str = ""
    small: bool = field(default=False, kw_only=True)

    @property
    def legend(self) -> list[tuple[str, int, bool]]:
        """Name, colour and whether dashed of each series, once."""
        found = {one.name: (one.name, one.colour, one.dashed) for p in self.panels for one in p.series}
        return list(found.values())

    @property
    def svgs(self) -> list[str]:
        """A picture of each panel, for a page."""
        return [_svg(panel) for panel in self.panels]

    @property
    def csv(self) -> str:
        """All numbers, one a line."""
        return comma_separated(
            ["x", "y", "series", "x_value", "x_low", "x_high", "y_value", "y_error"],
            (
                [panel.x_label, panel.y_label, one.name, *row]
                for panel in self.panels
                for one in panel.series
                for row in _rows(panel, one)
            ),
        )

    @property
    def numbers(self) -> list[dict[str, Any]]:
        """What each panel shows, for a script that draws it again: enlarged, or on other axes.

        A series without ``x`` has that of the series before it.
        """
        return [
            {
                **{"x": panel.x_label, "y": panel.y_label, "names": panel.names, "band": panel.band},
                **{"levels": panel.levels, "logs": [panel.x_log, panel.y_log]},
                **{"limits": [panel.x_limits, panel.y_limits]},
                "series": [
                    _numbers(one, None if number == 0 else panel.series[number - 1])
                    for number, one in enumerate(panel.series)
                ],
            }
            for panel in self.panels
        ]

    def standalone(self, style: str) -> str:
        """Return all panels as one SVG file with a style sheet of its own."""
        inner = "".join(
            f'<g transform="translate({number * _WIDTH:g} 0)">{_content(panel)}</g>'
            for number, panel in enumerate(self.panels)
        )
        keys = "".join(
            f'<text class="c{colour} key" x="{_LEFT + 110 * (number % 6):g}"'
            f' y="{_HEIGHT + 8 + 11 * (number // 6):g}">'
            f"{'╌' if dashed else '■'} {escape(name)}</text>"
            for number, (name, colour, dashed) in enumerate(self.legend)
        )
        words = " ".join((self.see, self.good, self.otherwise)).strip()
        return document(self.title, words, _WIDTH * len(self.panels), _HEIGHT + 22, style, inner + keys)


def _numbers(one: Series, before: Series | None) -> dict[str, Any]:
    told: dict[str, Any] = {"name": one.name, "shape": one.shape, "colour": one.colour % COLOURS}
    if before is None or one.x != before.x:
        told["x"] = [*map(_short, one.x)]
    told["y"] = [*map(_short, one.y)]
    if one.error is not None:
        told["error"] = [*map(_short, one.error)]
    if one.reach is not None:
        told["reach"] = one.reach
    return told | {key: True for key in ("dashed", "filled") if getattr(one, key)}


def _short(value: Number) -> Number:
    """Round to what can be seen; JSON knows no NaN."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.4g}")


def _rows(panel: Panel, one: Series) -> Iterator[list[str | float | None]]:
    for number, value in enumerate(one.y):
        low: Number = None
        high: Number = None
        place: str | float
        if one.shape == "steps":
            low, high = one.x[number], one.x[number + 1]
            place = (low + high) / 2
        else:
            place = one.x[number]
            if one.reach is not None:
                low, high = one.reach[number]
        if panel.names is not None:
            place = panel.names[number]
        error = None if one.error is None else one.error[number]
        yield [place, low, high, value, error]


@dataclass(frozen=True)
class _Axis:
    """From numbers to places between `begin` and `end`."""

    low: float
    high: float
    log: bool
    begin: float
    end: float

    def at(self, value: float) -> float:
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        here = math.log(max(value, 1e-300)) if self.log else value
        share = min(max((here - low) / (high - low), -1.0), 2.0)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        return _decades(self.low, self.high) if self.log else nice_ticks(self.low, self.high)


def nice_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two, about five."""
    raw = (high - low) / _TICKS
    scale = 10.0 ** math.floor(math.log10(raw))
    step = scale * next(m for m in (1, 2, 2.5, 5, 10) if m * scale >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1,), (1, 3), (1, 2, 5)):
        places = [m * 10.0**p for p in powers for m in parts]
        found = [place for place in places if low * 0.999 <= place <= high * 1.001]
        if len(found) >= 3:
            break
    return found


def _axis(
    values: Iterable[Number], limits: tuple[Number, Number], log: bool, begin: float, end: float, room: float
) -> _Axis:
    finite = [v for v in values if v is not None and math.isfinite(v) and (not log or v > 0)]
    low = min(finite, default=0.1 if log else 0.0)
    high = max(finite, default=1.0)
    if log:
        stretch = (high / low) ** room if high > low else 2.0
        low, high = low / stretch, high * stretch
    else:
        stretch = room * (high - low) if high > low else abs(high) / 2 or 1.0
        low, high = low - stretch, high + stretch
    low = low if limits[0] is None else limits[0]
    high = high if limits[1] is None else limits[1]
    return _Axis(low, high if high > low else low + 1.0, log, begin, end)


def _svg(panel: Panel) -> str:
    label = f"{panel.y_label} against {panel.x_label}" if panel.x_label else panel.y_label
    return (
        f'<svg class="panel" role="img" aria-label="{escape(label)}" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}">'
        f"{_content(panel)}</svg>"
    )


def _content(panel: Panel) -> str:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    xs = [v for one in panel.series for v in (*one.x, *(e for pair in one.reach or () for e in pair))]
    ys: list[Number] = [*panel.levels]
    for one in panel.series:
        for value, error in zip(one.y, one.error or [0.0] * len(one.y), strict=True):
            if value is not None:
                ys += [value] if panel.y_log else [value - error, value + error]
        ys += [0.0] if one.filled else []
    limits = panel.x_limits if panel.names is None else (-0.5, len(panel.names) - 0.5)
    x = _axis(xs, limits, panel.x_log, _LEFT, right, 0.02)
    y = _axis(ys, panel.y_limits, panel.y_log, bottom, _TOP, 0.05)
    parts = [f'<text class="yl" x="4" y="12">{escape(panel.y_label)}</text>']
    if panel.band:
        top, low = y.at(min(panel.band[1], y.high)), y.at(max(panel.band[0], y.low))
        parts.append(
            f'<rect class="band" x="{_LEFT}" y="{top:.1f}" width="{right - _LEFT}" height="{low - top:.1f}"/>'
        )
    for tick in y.ticks():
        place = y.at(tick)
        parts.append(
            f'<path class="grid" d="M{_LEFT} {place:.1f}H{right}"/>'
            f'<text class="t" x="{_LEFT - 5}" y="{place + 3.5:.1f}" text-anchor="end">{_said(tick)}</text>'
        )
    parts += list(_x_ticks(panel, x, bottom))
    parts.append(
        f'<text class="t" x="{right}" y="{_HEIGHT - 6}" text-anchor="end">{escape(panel.x_label)}</text>'
        f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>'
    )
    parts += [f'<path class="level" d="M{_LEFT} {y.at(v):.1f}H{right}"/>' for v in panel.levels]
    # A picture within the picture cuts off what lies beyond the axes.
    width, height = right - _LEFT + 2 * _EDGE, bottom - _TOP + 2 * _EDGE
    box = f"{_LEFT - _EDGE:g} {_TOP - _EDGE:g} {width:g} {height:g}"
    parts.append(
        f'<svg x="{_LEFT - _EDGE:g}" y="{_TOP - _EDGE:g}" width="{width:g}" height="{height:g}"'
        f' viewBox="{box}">' + "".join(_series(panel, one, x, y) for one in panel.series) + "</svg>"
    )
    return "".join(parts)


def _x_ticks(panel: Panel, x: _Axis, bottom: float) -> Iterator[str]:
    if panel.names is not None:
        places: list[tuple[float, str]] = [(float(n), name) for n, name in enumerate(panel.names)]
    elif panel.x_log and panel.x_label.endswith("[GeV]"):
        places = [(m, f"{m}") for m in _MOMENTA if x.low * 0.999 <= m <= x.high * 1.001 and m != 3]
    else:
        places = [(tick, _said(tick)) for tick in x.ticks()]
    crowded = panel.names is not None and sum(len(name) + 2 for _, name in places) > 44
    for value, name in places:
        place = x.at(value)
        turned = f' transform="rotate(-24 {place:.1f} {bottom + 13})"' if crowded else ""
        anchor = "end" if crowded else "middle"
        yield (
            f'<path class="axis" d="M{place:.1f} {bottom}v3"/>'
            f'<text class="t" x="{place:.1f}" y="{bottom + 14}" text-anchor="{anchor}"{turned}>'
            f"{escape(name)}</text>"
        )


def _series(panel: Panel, one: Series, x: _Axis, y: _Axis) -> str:
    classes = f"s c{one.colour % COLOURS}{' dash' if one.dashed else ''}"
    inside: list[str] = []
    if one.shape == "steps":
        inside.append(_steps(one, x, y))
    else:
        points = [
            (x.at(a), y.at(b), number)
            for number, (a, b) in enumerate(zip(one.x, one.y, strict=True))
            if b is not None and math.isfinite(b) and (not panel.y_log or b > 0)
        ]
        if one.shape == "dots":
            inside.append(f'<path class="d" d="{"".join(f"M{a:.1f} {b:.1f}h0" for a, b, _ in points)}"/>')
        elif one.shape != "points" and points:
            inside.append(f'<path d="{_broken(points)}"/>')
        if one.shape in ("points", "joined"):
            inside += [_point(panel, one, x, y, *point) for point in points]
    return f'<g class="{classes}" data-s="{escape(one.name)}">{"".join(inside)}</g>'


def _broken(points: Sequence[tuple[float, float, int]]) -> str:
    """Join points that follow each other; a number that was left out breaks the line."""
    path, last = [], None
    for a, b, number in points:
        path.append(f"{'L' if last == number - 1 else 'M'}{a:.1f} {b:.1f}")
        last = number
    return "".join(path)


def _steps(one: Series, x: _Axis, y: _Axis) -> str:
    path, pen = [], False
    for (low, high), value in zip(pairwise(one.x), one.y, strict=True):
        if value is None or not math.isfinite(value) or (y.log and value <= 0):
            pen = False
            continue
        place = f"{y.at(value):.1f}"
        path.append(f"{'V' if pen else f'M{x.at(low):.1f} '}{place}H{x.at(high):.1f}")
        pen = True
    drawn = f'<path d="{"".join(path)}"/>'
    if one.filled and path:
        base = y.at(0.0)
        drawn += f'<path class="fill" d="{"".join(path)}V{base:.1f}H{x.at(one.x[0]):.1f}Z"/>'
    return drawn


# Of each colour's marker, about its own middle.
_MARKERS = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "m-2.7-2.7h5.4v5.4h-5.4z",
    "m0-3.6l3.4 6h-6.8z",
    "m0-3.8l3.4 3.8l-3.4 3.8l-3.4-3.8z",
    "m0 3.6l3.4-6h-6.8z",
    "m-3-1h2v-2h2v2h2v2h-2v2h-2v-2h-2z",
    "m-2.5-2.5h5v5h-5z",
)


def _point(panel: Panel, one: Series, x: _Axis, y: _Axis, a: float, b: float, number: int) -> str:
    value = one.y[number]
    assert value is not None
    bars, said = "", f"{value:.4g}"
    if one.error is not None:
        error = one.error[number]
        top, low = y.at(value + error), y.at(max(value - error, y.low) if y.log else value - error)
        bars += f"M{a:.1f} {top:.1f}V{low:.1f}"
        said += f" ± {error:.2g}"
    place = panel.names[number] if panel.names else f"{one.x[number]:.3g}"
    if one.reach is not None:
        low, high = one.reach[number]
        bars += f"M{x.at(low):.1f} {b:.1f}H{x.at(high):.1f}"
        place = f"{low:g}–{high:g}"
    bar = f'<path d="{bars}"/>' if bars else ""
    mark = _MARKERS[one.colour % COLOURS]
    title = escape(f"{one.name}, {place}: {said}")
    return f'{bar}<path class="m" d="M{a:.1f} {b:.1f}{mark}"><title>{title}</title></path>'


def _said(value: float) -> str:
    text = f"{value:.4g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        power = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(d)] if d.isdigit() else "⁻" for d in str(int(exponent)))
        return f"10{power}" if mantissa == "1" else f"{mantissa}·10{power}"
    return text.replace("-", "−")
