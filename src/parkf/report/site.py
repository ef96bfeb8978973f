"""The site of a report: its pages with links to each other, and the files beside them."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from parkf.io.files import copy, replacing
from parkf.report.drawing import Drawn
from parkf.report.heat import PALETTE
from parkf.report.picture import Picture

_TEMPLATES = Environment(
    loader=PackageLoader("parkf.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)
_TEMPLATES.globals["palette"] = PALETTE
# JSON within HTML, without blanks.
_TEMPLATES.filters["compact"] = lambda value: json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
# Draws figures again, enlarged, where a reader asks for it: a file beside the pages, since it is half as
# large as all of them together.
_LIBRARY = Path(__file__).parent / "vendor" / "plotly-basic.min.js"
_HEADING = re.compile(r'<h2 id="(?P<anchor>[^"]+)">(?P<title>.*?)</h2>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True)
class Page:
    """File name and title of a page."""

    file: str
    title: str


@dataclass(frozen=True)
class Place:
    """A page among all of its site, for the templates."""

    pages: Sequence[Page]
    current: str

    @property
    def previous(self) -> Page | None:
        """Page before this one."""
        number = self._number()
        return self.pages[number - 1] if number else None

    @property
    def next(self) -> Page | None:
        """Page after this one."""
        number = self._number() + 1
        return self.pages[number] if number < len(self.pages) else None

    def _number(self) -> int:
        return [page.file for page in self.pages].index(self.current)


def write_page(
    path: Path, template: str, *, pages: Sequence[Page] = (), folder: str = "figures", **content: Any
) -> None:
    """Write a page from one of the templates, and its figures as SVG and CSV.

    Parameters
    ----------
    path : Path
        The HTML file; CSS and JavaScript are in it, but for the library that draws enlarged figures.
    template : str
        Name of the template.
    pages : sequence of Page
        All pages of the site in their order, this one among them; none where it stands alone.
    folder : str
        Folder beside the page for the files of figures.
    **content
        What the template shows.
    """
    kept: dict[str, Drawn | Picture] = {}

    def keep(drawn: Drawn | Picture) -> str:
        name = f"{folder}/{path.stem}-{drawn.name}"
        kept[name] = drawn
        return name

    here = Place(pages or [Page(path.name, "Overview")], path.name)
    library = path.parent / folder / _LIBRARY.name
    text = _TEMPLATES.get_template(template).render(
        site=here, contents=_contents, keep=keep, library=f"{folder}/{library.name}", **content
    )
    for name, drawn in kept.items():
        for suffix, written in ((".svg", drawn.standalone(_style())), (".csv", drawn.csv)):
            with replacing(path.parent / f"{name}{suffix}") as temporary:
                temporary.write_text(written)
    if any(isinstance(drawn, Drawn) for drawn in kept.values()) and not library.exists():
        copy(_LIBRARY, library)
    with replacing(path) as temporary:
        temporary.write_text(text)


@cache
def _style() -> str:
    return _TEMPLATES.get_template("figure.css").render()


def _contents(body: str) -> list[tuple[str, str]]:
    """Find the anchors and titles of a page's sections."""
    return [
        (found["anchor"], unescape(_TAG.sub("", found["title"])).strip()) for found in _HEADING.finditer(body)
    ]
