"""One change of the code."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    """A piece of code, and its replacement.

    Attributes
    ----------
    file : str
        Path relative to the folder of sources.
    within : str
        The function or class that contains it; empty at the top of a module.
    line : int
    before, after : str
    kind : str
        The kind of the mistake.
    nth : int
        Number among the mutants that are the same in all of this except the line.
    """

    file: str
    within: str
    line: int
    before: str
    after: str
    kind: str
    nth: int = 0

    @property
    def key(self) -> str:
        """A name that stays when code elsewhere in the file changes."""
        return "|".join((self.file, self.within, self.before, self.after, str(self.nth)))

    @property
    def room(self) -> str:
        """The folder of the package that contains it, or the kernel."""
        first, second = self.file.split("/")[:2]
        return second if first == "parkf" else first


def numbered(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Assign numbers to mutants that are otherwise the same."""
    seen: Counter[str] = Counter()
    result = []
    for mutant in mutants:
        result.append(replace(mutant, nth=seen[mutant.key]))
        seen[mutant.key] += 1
    return result
