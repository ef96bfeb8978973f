"""Maps as tables: a coloured cell for each number, which stays text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

# Ends of the scale, of colour-blind safe hues; white lies between them.
_ENDS = {-1: (0x21, 0x66, 0xAC), 1: (0xB2, 0x18, 0x2B)}
_DARK = 0.6


@dataclass(frozen=True)
class Spot:
    """A number of a map.

    Attributes
    ----------
    text : str
    value : float
        From −1, full blue, to 1, full red.
    sure : bool
        Whether it is to stand out.
    """

    text: str
    value: float
    sure: bool = False

    @property
    def style(self) -> str:
        """Colours, for CSS."""
        share = min(abs(self.value), 1.0)
        end = _ENDS[1 if self.value > 0 else -1]
        shade = "".join(f"{round(255 + share * (part - 255)):02x}" for part in end)
        ink = ";color:#fff" if share > _DARK else ""
        return f"background:#{shade}{ink}{';font-weight:700' if self.sure else ''}"


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
    """

    corner: str
    columns: Sequence[tuple[str, str]]
    rows: Mapping[str, Sequence[Spot | None]]

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
            )
            for begin, end in pairwise([0, *ends])
        ]
