"""Formulas of the pages as MathML, which browsers draw themselves: nothing is loaded from elsewhere."""

import re
from html import unescape

from parkf.report.formula import typeset

# The elements that pymdownx.arithmatex writes for $…$ and $$…$$.
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(html: str, **_: object) -> str:
    """Replace the TeX of a page by MathML; MkDocs calls it with each page."""

    def drawn(found: re.Match[str]) -> str:
        # Wide formulas cannot be broken into lines, so they can be scrolled.
        style = ' style="overflow-x: auto; margin: 0.5em 0"' if found[1] == "div" else ""
        return f"<{found[1]}{style}>{typeset(unescape(found[2]).strip()).mathml}</{found[1]}>"

    return _FORMULA.sub(drawn, html)
