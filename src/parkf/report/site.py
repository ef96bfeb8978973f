"""The site of a report: its pages with links to each other, and the files beside them."""

import json
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from parkf.io.files import copy, replacing
from parkf.report.drawing import Drawn
from parkf.report.heat import PALETTE, PALETTE_IN_THE_DARK
from parkf.report.picture import Picture

_TEMPLATES = Environment(
    loader=PackageLoader("parkf.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)
_TEMPLATES.globals |= {"palette": PALETTE, "dark_palette": PALETTE_IN_THE_DARK}
# JSON within HTML, without blanks.
_TEMPLATES.filters["compact"] = lambda value: json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
# The library that draws enlarged figures on request. It is a separate file, because it is half as large as
# all pages together.
_LIBRARY = Path(__file__).parent / "vendor" / "plotly-basic.min.js"
_HEADING = re.compile(r'<h2 id="(?P<anchor>[^"]+)">(?P<title>.*?)</h2>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


class Page(NamedTuple):
    """File name and title of a page."""

    file: str
    title: str


def write_page(
    path: Path,
    template: str,
    *,
    pages: Sequence[Page] = (),
    under: str | None = None,
    folder: str = "figures",
    **content: Any,
) -> None:
    """Write a page from one of the templates, and its figures as SVG and CSV into the folder beside it.

    The HTML file holds CSS and JavaScript, except the library that draws enlarged figures. `pages` are all
    pages of the site in their order, including this one; empty for a page that stands alone. A page
    that is not listed has the place of the page `under`.
    """
    kept: dict[str, Drawn | Picture] = {}

    def keep(one: Drawn | Picture) -> str:
        name = f"{folder}/{path.stem}-{one.name}"
        kept[name] = one
        return name

    pages = pages or [Page(path.name, "Overview")]
    current = under or path.name
    number = [page.file for page in pages].index(current)
    site = {
        "pages": pages,
        "current": current,
        "previous": [None, *pages][number],
        "next": [*pages, None][number + 1],
    }
    library = f"{folder}/{_LIBRARY.name}"
    text = _TEMPLATES.get_template(template).render(
        site=site, contents=_contents, keep=keep, library=library, **content
    )
    style = _TEMPLATES.get_template("figure.css").render()
    for name, one in kept.items():
        picture = one.picture if isinstance(one, Drawn) else one
        for suffix, written in ((".svg", picture.standalone(style)), (".csv", picture.csv)):
            with replacing(path.parent / f"{name}{suffix}") as temporary:
                temporary.write_text(written)
    if any(isinstance(one, Drawn) for one in kept.values()) and not (path.parent / library).exists():
        copy(_LIBRARY, path.parent / library)
    with replacing(path) as temporary:
        temporary.write_text(text)


def _contents(body: str) -> list[tuple[str, str]]:
    """Find the anchors and titles of a page's sections."""
    return [
        (found["anchor"], unescape(_TAG.sub("", found["title"])).strip()) for found in _HEADING.finditer(body)
    ]
