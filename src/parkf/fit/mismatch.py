"""A disagreement between candidates and a parameter set about their detector."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Mismatch:
    """What disagrees, with its size. A wrong one is refused, a doubtful one is printed."""

    verdict: Literal["doubtful", "wrong"]
    what: str  # the measured size, and what was expected
    quality: bool = False  # whether a poor set for the right detector could cause the same

    def __str__(self) -> str:
        return f"{self.verdict}: {self.what}"


def beyond(size: float, bounds: tuple[float, float], what: str) -> list[Mismatch]:
    """Return a doubtful mismatch above the first bound, a wrong one above the second, else none."""
    if not size > bounds[0]:
        return []
    return [Mismatch("wrong" if size > bounds[1] else "doubtful", what)]
