"""Maps as tables: a coloured cell for each number, which stays text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, groupby, pairwise

from parkf.report.picture import Picture

# Shades of a colour, from white to the darkest: of red for what is too much, of blue for what is too little.
_RED = ("#fff", "#fde0d0", "#f7b799", "#e58a6b", "#c0433c", "#9a1228", "#5c001c")
_BLUE = ("#fff", "#dbeaf2", "#a8d0e4", "#74b2d4", "#2a72a8", "#1b5a98", "#053061")
_SHADES = len(_RED) - 1
# The first shade that is too dark for black text.
_DARK = 4
_BLACK = "#1b1f24"
# Class: colour of the field, and of the text in it.
PALETTE = {
    f"{kind}{level}": (colour, "#fff" if level >= _DARK else _BLACK)
    for kind, colours in (("p", _RED), ("n", _BLUE))
    for level, colour in enumerate(colours)
}
# Pixels of a cell, of the names of rows, and of a line of text, in a picture of a map.
_CELL, _NAME, _LINE = 44.0, 84.0, 15.0


def shade(value: float) -> str:
    """Return the style sheet's class for a value from −1, darkest blue, over 0, white, to 1, darkest red."""
    level = round(_SHADES * min(abs(value), 1.0))
    return f"{'p' if value >= 0 else 'n'}{level}"


@dataclass(frozen=True)
class Spot:
    """A number of a map.

    Attributes
    ----------
    text : str
    value : float
        From −1 to 1; the further from 0 the darker, and the worse.
    sure : bool
        Whether it is to stand out.
    """

    text: str
    value: float
    sure: bool = False

    @property
    def style(self) -> str:
        """Classes of the style sheet."""
        return shade(self.value) + (" sure" if self.sure else "")


@dataclass(frozen=True)
class Scale:
    """What the colours of a map mean: dark is bad.

    Attributes
    ----------
    label : str
        What is shown, with its unit.
    marks : sequence of (float, str)
        Values from −1 to 1, and what is written there.
    """

    label: str
    marks: Sequence[tuple[float, str]]

    @property
    def bar(self) -> list[tuple[str, str]]:
        """Class and text of each field of the colour bar."""
        return [(shade(value), text) for value, text in self.marks]


def about_zero(label: str, span: float, unit: str) -> Scale:
    """Return the scale of numbers that ought to be zero; colours are darkest from `span` away from it on."""
    shares = (-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0)
    return Scale(label, [(share, f"{share * span:+.2g} {unit}".replace("-", "−")) for share in shares])


@dataclass(frozen=True)
class HeatMap:
    """A map, as ``heat`` of ``table.html`` writes it.

    Attributes
    ----------
    corner : str
        What the rows are.
    columns : sequence of (str, str)
        Group and name of each column; those of a group follow each other.
    rows : mapping of str to sequence of Spot or None
        By name; None leaves a cell empty.
    scale : Scale
    """

    corner: str
    columns: Sequence[tuple[str, str]]
    rows: Mapping[str, Sequence[Spot | None]]
    scale: Scale

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Groups of columns, and how many each has."""
        return [(name, len(list(own))) for name, own in groupby(self.columns, key=lambda column: column[0])]

    def picture(self, name: str, title: str, see: str) -> Picture:
        """Return the map as a drawing, for files of its own."""
        parts = self.parts
        heights = [_LINE * (len(part.rows) + 2) for part in parts]
        tops = [*accumulate(heights, initial=_LINE)]
        body = "".join(_drawn(part, top) for part, top in zip(parts, tops, strict=False))
        bar = "".join(
            _field(style, text, _NAME + 8 + 1.4 * _CELL * number, tops[-1] + 4, 1.4 * _CELL)
            for number, (style, text) in enumerate(self.scale.bar)
        )
        label = _said("row", _NAME, tops[-1] + _LINE, self.scale.label)
        widest = max(len(part.columns) for part in parts) * _CELL
        return Picture(
            name,
            title,
            _NAME + max(widest, 1.4 * _CELL * len(self.scale.bar)) + 16,
            tops[-1] + 2 * _LINE,
            body + label + bar,
            [self.corner, "group", "column", self.scale.label],
            [*self._numbers()],
            see=see,
        )

    def _numbers(self) -> Iterator[tuple[str, str, str, str]]:
        for row, spots in self.rows.items():
            for (group, column), spot in zip(self.columns, spots, strict=True):
                if spot is not None:
                    yield row, group, column, spot.text

    @property
    def parts(self) -> list["HeatMap"]:
        """A map for each group of columns, where all beside each other would be too wide for a page."""
        ends = list(accumulate(count for _, count in self.groups))
        return [
            HeatMap(
                self.corner,
                self.columns[begin:end],
                {name: row[begin:end] for name, row in self.rows.items()},
                self.scale,
            )
            for begin, end in pairwise([0, *ends])
        ]


def _drawn(part: HeatMap, top: float) -> str:
    group = part.columns[0][0] if part.columns else ""
    title = f'<text class="yl" x="4" y="{top + _LINE:g}">{escape(group)}</text>'
    heads = (
        _said("mid", _NAME + 8 + _CELL * (number + 0.5), top + _LINE, column)
        for number, (_, column) in enumerate(part.columns)
    )
    rows = (
        _said("row", _NAME, top + _LINE * (line + 2) - 4, name)
        + "".join(
            _field(spot.style, spot.text, _NAME + 8 + _CELL * number, top + _LINE * (line + 1) + 2, _CELL)
            for number, spot in enumerate(spots)
            if spot is not None
        )
        for line, (name, spots) in enumerate(part.rows.items())
    )
    return "".join([title, *heads, *rows])


def _field(style: str, text: str, x: float, y: float, width: float) -> str:
    colour, ink = PALETTE[style.split()[0]]
    path = f'<path fill="{colour}" d="M{x:g} {y:g}h{width - 1:g}v{_LINE - 1:g}h{1 - width:g}z"/>'
    return path + _said("mid" if ink == _BLACK else "mid pale", x + width / 2, y + _LINE - 4, text)


def _said(style: str, x: float, y: float, text: str) -> str:
    return f'<text class="{style}" x="{x:g}" y="{y:g}">{escape(text)}</text>'
