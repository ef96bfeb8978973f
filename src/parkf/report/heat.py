"""Maps as tables: a coloured cell for each number, which stays text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

# Shades of a colour, from white to the darkest.
_SHADES = 6


def shade(value: float) -> str:
    """Give the style sheet's class for a value from −1, darkest blue, over 0, white, to 1, darkest red."""
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
    """Give the scale of numbers that ought to be zero, and are as bad as can be `span` away from it."""
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
