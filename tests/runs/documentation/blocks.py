"""Code blocks of the pages, and the command lines in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r"<<'(\w+)'")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language and its text."""

    language: str
    text: str

    @property
    def is_program(self):
        """Whether the block is a complete piece of Python, not an excerpt."""
        return self.language == "python" and "..." not in self.text.split("\n")

    def lines(self):
        """Lines as a shell reads them: a heredoc is one line, and so are lines joined by a backslash."""
        waiting, end = [], None
        for line in self.text.replace("\\\n", " ").splitlines():
            waiting.append(line)
            heredoc = _HEREDOC.search(line)
            end = heredoc[1] if heredoc else None if line == end else end
            if end is None:
                yield "\n".join(waiting)
                waiting = []


def blocks(page):
    """Code blocks of a page, in their order."""
    return [
        Block(language, re.sub(f"(?m)^{indent}", "", text))
        for indent, language, text in _BLOCK.findall(page.read_text())
    ]


def without_comment(line):
    """A command line without its comment."""
    return re.sub(r"\s+#.*", "", line).strip()
