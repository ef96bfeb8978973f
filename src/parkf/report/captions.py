"""Captions of the pages' figures, for Snakemake's own report of a run."""

import re
from html import unescape
from pathlib import Path

_WORDS = re.compile(r"<title>(.*?)</title><desc>(.*?)</desc>", re.DOTALL)
# Characters that are markup in reStructuredText.
_MARKUP = re.compile(r"([\\*`|_])")


class Captions:
    """Title and caption of each figure, read when needed from ``<name>.svg`` in the folder of figures."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> str:
        """Return the captions as reStructuredText; a drawing of another program has none."""
        found = _WORDS.search((self._folder / f"{name}.svg").read_text())
        if found is None:
            return ""
        title, words = (_MARKUP.sub(r"\\\1", unescape(text)) for text in found.groups())
        return f"**{title}.** {words}"
