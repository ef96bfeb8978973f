"""Drawings that are no panels with axes: bars of time, graphs, maps; and how any drawing becomes a file."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Picture:
    """A drawing, with the numbers that are in it.

    Attributes
    ----------
    name : str
        Of its files, without ending.
    title : str
        What is drawn, for those who do not see it.
    width, height : float
        In pixels of the page.
    body : str
        SVG, in the classes of ``figure.css``.
    columns : sequence of str
        Heads of the CSV file.
    rows : sequence of sequence
        Its cells.
    see, good, otherwise : str
        What to look at, what is good, and what to do when it is not.
    """

    name: str
    title: str
    width: float
    height: float
    body: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    see: str = ""
    good: str = ""
    otherwise: str = ""

    @property
    def svg(self) -> str:
        """For a page, where it is never narrower than is needed to read it."""
        narrow, wide = 0.75 * self.width, self.width
        return (
            f'<svg class="picture" role="img" aria-label="{escape(self.title)}"'
            f' style="min-width:{narrow:.0f}px;max-width:{wide:.0f}px"'
            f' viewBox="0 0 {self.width:g} {self.height:g}">{self.body}</svg>'
        )

    @property
    def csv(self) -> str:
        """All numbers."""
        return comma_separated(self.columns, self.rows)

    def standalone(self, style: str) -> str:
        """Return it as an SVG file with a style sheet of its own."""
        words = " ".join((self.see, self.good, self.otherwise)).strip()
        return document(self.title, words, self.width, self.height, style, self.body)


def document(title: str, words: str, width: float, height: float, style: str, body: str) -> str:
    """Return an SVG file."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}">'
        f"<title>{escape(title)}</title>"
        f"<desc>{escape(words)}</desc><style>{style}</style>"
        f'<rect width="100%" height="100%" fill="#fff"/>{body}</svg>\n'
    )


def comma_separated(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a CSV file; numbers have six digits."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    return stream.getvalue()
