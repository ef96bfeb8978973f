"""Maps: coloured cells with a colour bar. The number of a cell appears under the pointer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import accumulate, groupby, pairwise

from parkf.report.picture import Picture, label

# Shades from the page's own colour to the strongest. Red marks values that are too large, blue values that
# are too small. The shades of a dark page become lighter.
_RED = ("#fff", "#fde0d0", "#f7b799", "#e58a6b", "#c0433c", "#9a1228", "#5c001c")
_BLUE = ("#fff", "#dbeaf2", "#a8d0e4", "#74b2d4", "#2a72a8", "#1b5a98", "#053061")
_RED_IN_THE_DARK = ("#262c33", "#4d2f2b", "#733a30", "#974536", "#e07a62", "#ff9f88", "#ffd6ca")
_BLUE_IN_THE_DARK = ("#262c33", "#223a4d", "#234f6c", "#27648c", "#559fca", "#8ac4e9", "#c8e5fb")
# The first shade whose text has the other colour.
_STRONG = 4
_BLACK, _WHITE = "#1b1f24", "#fff"


def _palette(
    red: Sequence[str], blue: Sequence[str], faint_ink: str, strong_ink: str
) -> dict[str, tuple[str, str]]:
    return {
        f"{kind}{level}": (colour, strong_ink if level >= _STRONG else faint_ink)
        for kind, colours in (("p", red), ("n", blue))
        for level, colour in enumerate(colours)
    }


# Colours of a cell and of its text, for each class of the style sheet.
PALETTE = _palette(_RED, _BLUE, _BLACK, _WHITE)
PALETTE_IN_THE_DARK = _palette(_RED_IN_THE_DARK, _BLUE_IN_THE_DARK, _WHITE, _BLACK)
# Pixels of a cell, of the names of rows, of a line of text, and of a field of the colour bar, in a picture.
_CELL, _NAME, _LINE, _BAR = 44.0, 84.0, 15.0, 1.4 * 44.0
# Pixels of a letter, of a cell's height and smallest width on a page, and of a shade of the colour bar.
_LETTER, _HIGH, _WIDE, _SHADE = 6.2, 19.0, 27.0, 26.0


def shade(value: float) -> str:
    """Return the class of a value: −1 is the strongest blue, 0 has no colour, and 1 is the strongest red."""
    level = round((len(_RED) - 1) * min(abs(value), 1.0))
    return f"{'p' if value >= 0 else 'n'}{level}"


@dataclass(frozen=True)
class Spot:
    """A number of a map."""

    text: str
    value: float  # from −1 to 1; the further from 0 the stronger its colour, and the worse
    sure: bool = False  # whether it is emphasised

    @property
    def style(self) -> str:
        """Class of the style sheet."""
        return shade(self.value)


@dataclass(frozen=True)
class HeatMap:
    """A map, which the macro ``heat`` of ``table.html`` writes."""

    corner: str  # what the rows are
    columns: Sequence[tuple[str, str]]  # group and name of each; those of a group follow each other
    rows: Mapping[str, Sequence[Spot | None]]  # by name; None leaves a cell empty
    label: str  # what is shown, with its unit
    marks: Sequence[tuple[float, str]]  # of the colour bar: values from −1 to 1, and their texts

    @property
    def svg(self) -> str:
        """The first group of columns as a drawing for a page; each cell has its number as its title."""
        names = [name for _, name in self.columns]
        wide = max(_WIDE, *(_LETTER * len(name) + 11 for name in names))
        left = _LETTER * max(len(name) for name in (self.corner, *self.rows)) + 8
        body = [_text("row", left - 5, _LINE - 3, self.corner)]
        body += [_text("mid", left + wide * (n + 0.5), _LINE - 3, name) for n, name in enumerate(names)]
        for line, (row, spots) in enumerate(self.rows.items()):
            y = _LINE + _HIGH * line
            body.append(_text("row", left - 5, y + 13, row))
            for number, spot in enumerate(spots):
                if spot is not None:
                    x = left + wide * number
                    title = escape(f"{row}, {names[number]}: {spot.text}")
                    path = f"M{x:g} {y:g}h{wide - 1:g}v{_HIGH - 1:g}h{1 - wide:g}z"
                    body.append(f'<path class="cell {spot.style}" d="{path}"><title>{title}</title></path>')
                    if spot.sure:
                        place = f'cx="{x + wide / 2:g}" cy="{y + 9:g}"'
                        body.append(f'<circle class="sure {spot.style}" {place} r="2.5"/>')
        return _svg(left + wide * len(names), _LINE + _HIGH * len(self.rows), "".join(body))

    @property
    def bar(self) -> str:
        """The colour bar as a drawing: all shades, and the texts of the marks below them."""
        low = -1.0 if any(value < 0 for value, _ in self.marks) else 0.0
        shades = len(_RED) - 1
        steps = [number / shades for number in range(round(low * shades), shades + 1)]
        width = _SHADE * len(steps)
        body = [
            f'<path class="cell {shade(value)}" d="M{20 + _SHADE * n:g} 1h{_SHADE:g}v12h{-_SHADE:g}z"/>'
            for n, value in enumerate(steps)
        ]
        for value, text in self.marks:
            # The middle of the first shade is `low`, that of the last one is 1.
            place = 20 + _SHADE / 2 + (max(value, low) - low) / (1 - low) * (width - _SHADE)
            body.append(_text("mid", place, 26, text))
        return _svg(width + 40, 30, "".join(body))

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Names of the groups of columns, and the number of columns in each."""
        return [(name, len(list(own))) for name, own in groupby(self.columns, key=lambda column: column[0])]

    @property
    def parts(self) -> list["HeatMap"]:
        """A map for each group of columns, because all groups in a row are too wide for a page."""
        ends = accumulate((count for _, count in self.groups), initial=0)
        return [
            replace(
                self,
                columns=self.columns[begin:end],
                rows={name: row[begin:end] for name, row in self.rows.items()},
            )
            for begin, end in pairwise(ends)
        ]

    def picture(self, name: str, title: str, see: str) -> Picture:
        """Return the map as a drawing, for files of its own."""
        parts = self.parts
        tops = [*accumulate((_LINE * (len(part.rows) + 2) for part in parts), initial=_LINE)]
        foot = tops[-1]
        body = [text for part, top in zip(parts, tops, strict=False) for text in _drawn(part, top)]
        body.append(_text("row", _NAME, foot + _LINE, self.label))
        body += [
            _field(shade(value), text, _NAME + 8 + _BAR * number, foot + 4, _BAR)
            for number, (value, text) in enumerate(self.marks)
        ]
        return Picture(
            name,
            title,
            _NAME + max(*(_CELL * len(part.columns) for part in parts), _BAR * len(self.marks)) + 16,
            foot + 2 * _LINE,
            "".join(body),
            [self.corner, "group", "column", self.label],
            [
                (row, *column, spot.text)
                for row, spots in self.rows.items()
                for column, spot in zip(self.columns, spots, strict=True)
                if spot is not None
            ],
            see,
        )


def _drawn(part: HeatMap, top: float) -> Iterator[str]:
    yield label("yl", 4, f"{top + _LINE:g}", part.columns[0][0])
    for number, (_, column) in enumerate(part.columns):
        yield _text("mid", _NAME + 8 + _CELL * (number + 0.5), top + _LINE, column)
    for line, (name, spots) in enumerate(part.rows.items(), start=1):
        y = top + _LINE * line + 2
        yield _text("row", _NAME, top + _LINE * (line + 1) - 4, name)
        for number, spot in enumerate(spots):
            if spot is not None:
                yield _field(spot.style, spot.text, _NAME + 8 + _CELL * number, y, _CELL)


def _svg(width: float, height: float, body: str) -> str:
    """Return a drawing that a page shows in its true size, so that its letters can be read."""
    return (
        f'<svg class="map" aria-hidden="true" width="{width:g}" height="{height:g}"'
        f' viewBox="0 0 {width:g} {height:g}">{body}</svg>'
    )


def _field(style: str, text: str, x: float, y: float, width: float) -> str:
    colour, ink = PALETTE[style]
    path = f'<path fill="{colour}" d="M{x:g} {y:g}h{width - 1:g}v{_LINE - 1:g}h{1 - width:g}z"/>'
    return path + _text("mid" if ink == _BLACK else "mid pale", x + width / 2, y + _LINE - 4, text)


def _text(style: str, x: float, y: float, text: str) -> str:
    return label(style, f"{x:g}", f"{y:g}", text)
