"""The site of a report: its pages with links to each other, and the library that draws their figures."""

import json
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from parkf.io.files import copy, replacing

_TEMPLATES = Environment(
    loader=PackageLoader("parkf.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)
# JSON within HTML, without blanks.
_TEMPLATES.filters["compact"] = lambda value: json.dumps(
    value, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).replace("<", "\\u003c")
# A separate file, because it is as large as all pages together.
_LIBRARY = Path(__file__).parent / "vendor" / "plotly-basic.min.js"
_HEADING = re.compile(r'<h2 id="(?P<anchor>[^"]+)">(?P<title>.*?)</h2>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


def write_page(
    path: Path,
    template: str,
    *,
    pages: Sequence[tuple[str, str]] = (),
    **content: Any,
) -> None:
    """Write a page from one of the templates, with the data of its figures.

    The HTML file holds all but Plotly, which draws the figures and is copied into the folder beside it.
    `pages` are names and titles of all pages of the site in their order, including this one; empty for a page
    that stands alone.
    """
    pages = pages or [(path.name, "Overview")]
    library = f"figures/{_LIBRARY.name}"
    text = _TEMPLATES.get_template(template).render(
        pages=pages, current=path.name, contents=_contents, library=library, **content
    )
    if library in text and not (path.parent / library).exists():
        copy(_LIBRARY, path.parent / library)
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8")


def _contents(body: str) -> list[tuple[str, str]]:
    """Find the anchors and titles of a page's sections."""
    return [
        (found["anchor"], unescape(_TAG.sub("", found["title"])).strip()) for found in _HEADING.finditer(body)
    ]
