"""Maps as tables: each number is text in a coloured cell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise

from parkf.report.picture import Picture, label

# Shades from white to the darkest; red marks values that are too large, blue values that are too small.
_RED = ("#fff", "#fde0d0", "#f7b799", "#e58a6b", "#c0433c", "#9a1228", "#5c001c")
_BLUE = ("#fff", "#dbeaf2", "#a8d0e4", "#74b2d4", "#2a72a8", "#1b5a98", "#053061")
# The first shade that is too dark for black text.
_DARK = 4
_BLACK = "#1b1f24"
# Colours of a cell and of its text, for each class of the style sheet.
PALETTE = {
    f"{kind}{level}": (colour, "#fff" if level >= _DARK else _BLACK)
    for kind, colours in (("p", _RED), ("n", _BLUE))
    for level, colour in enumerate(colours)
}
# Pixels of a cell, of the names of rows, of a line of text, and of a field of the colour bar, in a picture.
_CELL, _NAME, _LINE, _BAR = 44.0, 84.0, 15.0, 1.4 * 44.0


def shade(value: float) -> str:
    """Return the class of a value: −1 is the darkest blue, 0 is white, and 1 is the darkest red."""
    level = round((len(_RED) - 1) * min(abs(value), 1.0))
    return f"{'p' if value >= 0 else 'n'}{level}"


@dataclass(frozen=True)
class Spot:
    """A number of a map."""

    text: str
    value: float  # from −1 to 1; the further from 0 the darker, and the worse
    sure: bool = False  # whether it is emphasised

    @property
    def style(self) -> str:
        """Classes of the style sheet."""
        return shade(self.value) + (" sure" if self.sure else "")


@dataclass(frozen=True)
class HeatMap:
    """A map, which the macro ``heat`` of ``table.html`` writes."""

    corner: str  # what the rows are
    columns: Sequence[tuple[str, str]]  # group and name of each; those of a group follow each other
    rows: Mapping[str, Sequence[Spot | None]]  # by name; None leaves a cell empty
    label: str  # what is shown, with its unit
    marks: Sequence[tuple[float, str]]  # of the colour bar: values from −1 to 1, and their texts

    @property
    def bar(self) -> list[tuple[str, str]]:
        """Class and text of each field of the colour bar."""
        return [(shade(value), text) for value, text in self.marks]

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
            _field(style, text, _NAME + 8 + _BAR * number, foot + 4, _BAR)
            for number, (style, text) in enumerate(self.bar)
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


def _field(style: str, text: str, x: float, y: float, width: float) -> str:
    colour, ink = PALETTE[style.split()[0]]
    path = f'<path fill="{colour}" d="M{x:g} {y:g}h{width - 1:g}v{_LINE - 1:g}h{1 - width:g}z"/>'
    return path + _text("mid" if ink == _BLACK else "mid pale", x + width / 2, y + _LINE - 4, text)


def _text(style: str, x: float, y: float, text: str) -> str:
    return label(style, f"{x:g}", f"{y:g}", text)
