"""A drawing with its numbers, as SVG for a page or as separate files, and the captions in these files."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

_WORDS = re.compile(r"<title>(.*?)</title><desc>(.*?)</desc>", re.DOTALL)
# Characters that are markup in reStructuredText.
_MARKUP = re.compile(r"([\\*`|_])")


@dataclass(frozen=True)
class Picture:
    """A drawing, with the numbers that are in it."""

    name: str  # of its files, without ending
    title: str  # what is drawn, for readers who do not see it
    width: float  # pixels of the page
    height: float
    body: str  # SVG, in the classes of figure.css
    columns: Sequence[str]  # heads of the CSV file
    rows: Iterable[Sequence[object]]  # cells of the CSV file
    see: str = ""  # what to look at
    good: str = ""  # what a good figure looks like
    otherwise: str = ""  # what to do where it is not good

    @property
    def svg(self) -> str:
        """The drawing for a page, wide enough to be read."""
        return (
            f'<svg class="picture" role="img" aria-label="{escape(self.title)}"'
            f' style="min-width:{0.75 * self.width:.0f}px;max-width:{self.width:.0f}px"'
            f' viewBox="0 0 {self.width:g} {self.height:g}">{self.body}</svg>'
        )

    @property
    def csv(self) -> str:
        """All numbers as a CSV file, with six digits."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(
            [f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in self.rows
        )
        return stream.getvalue()

    def standalone(self, style: str) -> str:
        """Return the drawing as an SVG file that contains the style sheet."""
        words = " ".join((self.see, self.good, self.otherwise)).strip()
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}"'
            f' width="{self.width:g}"><title>{escape(self.title)}</title>'
            f"<desc>{escape(words)}</desc><style>{style}</style>"
            f'<rect width="100%" height="100%" fill="#fff"/>{self.body}</svg>\n'
        )


def label(style: str, x: float | str, y: float | str, text: str, more: str = "") -> str:
    """Return an SVG text at `x` and `y`; `style` is its class, and `more` holds further attributes."""
    return f'<text class="{style}" x="{x}" y="{y}"{more}>{escape(text)}</text>'


class Captions:
    """Captions of figures, for Snakemake's report; they are read from ``<name>.svg`` when needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> str:
        """Return the captions as reStructuredText; a drawing from another program has no captions."""
        found = _WORDS.search((self._folder / f"{name}.svg").read_text())
        if found is None:
            return ""
        title, words = (_MARKUP.sub(r"\\\1", unescape(text)) for text in found.groups())
        return f"**{title}.** {words}"
