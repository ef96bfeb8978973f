"""Draws sentences at random from comments, docstrings, help texts, captions and documentation, to be judged.

    python tools/sentences.py [--count 60] [--seed 1]

Each line has the file and line where a sentence begins, then the sentence. The same seed draws the same.
"""

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FOLDERS = ("src", "workflow", "docs", "tools", "tests", "benchmarks")
_SHORTEST = 6
"""Words; what is shorter is a label."""


def sentences() -> list[str]:
    """List all sentences of the project with their places, in the order of the files."""
    found: list[str] = []
    for folder in _FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            read = _READERS.get(file.suffix)
            if read and "vendor" not in file.parts:
                for line, text in read(file.read_text("utf-8")):
                    found += [f"{file.relative_to(ROOT)}:{line}: {one}" for one in _split(text)]
    return found


def _split(text: str) -> Iterator[str]:
    flat = " ".join(text.split())
    for one in re.split(r"(?<=[.!?])\s+(?=[A-Z`*(]|- )|(?<=:)\s+(?=[A-Z]|- )", flat):
        begins = re.match(r"(?:- )?[*`(]*[A-Z`]", one)
        if begins and one[-1] in ".:!?" and len(one.split()) >= _SHORTEST:
            yield one.removeprefix("- ")


def _python(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        # Docstrings, help texts and captions are the constants that read like sentences.
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Entries of numpydoc sections are a name with a text that is indented below it.
            text = re.sub(r"(?m)^( *)\S.*\n(?=\1    \S)", "\n", node.value)
            for paragraph in re.split(r"\n\s*\n|\n\s*-{3,}\s*\n", text):
                if re.match(r"[A-Z].*[a-z]", paragraph.strip()) and paragraph.strip().endswith((".", ":")):
                    yield node.lineno, paragraph
    yield from _comments("#", source)


def _cpp(source: str) -> Iterator[tuple[int, str]]:
    yield from _comments("//", source)


def _comments(mark: str, source: str) -> Iterator[tuple[int, str]]:
    begin, lines = 0, list[str]()
    for number, line in enumerate([*source.splitlines(), ""], 1):
        text = line.strip()
        if text.startswith(mark):
            begin = begin if lines else number
            lines.append(text.lstrip(f"{mark}/!< ").strip())
        elif lines:
            yield begin, " ".join(lines)
            lines = []


def _markdown(source: str) -> Iterator[tuple[int, str]]:
    source = re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), source, flags=re.S)
    number = 1
    for paragraph in source.split("\n\n"):
        if not paragraph.lstrip().startswith(("#", "|", "<", "$$", "![")):
            yield number, re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph)
        number += paragraph.count("\n") + 2


def _yaml(source: str) -> Iterator[tuple[int, str]]:
    yield from _comments("#", source)


_READERS = {
    ".py": _python,
    ".smk": _yaml,
    ".hpp": _cpp,
    ".cpp": _cpp,
    ".md": _markdown,
    ".yaml": _yaml,
}


def main() -> None:
    """Print the sentences that were drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    every = sentences()
    print(f"{wanted.count} of {len(every)} sentences, seed {wanted.seed}")
    for one in random.Random(wanted.seed).sample(every, wanted.count):
        print(one)


if __name__ == "__main__":
    main()
