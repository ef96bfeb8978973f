"""Numbers from foreign files: exactly as many as expected, all finite, and none filled in."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from parkf.io.errors import ParkfError


def rows_of(shape: tuple[int, int]) -> Any:
    """Return the type of a list of rows in a model of a JSON file: sets and columns, finite in float32."""
    largest = float(np.finfo(np.float32).max)
    number = Annotated[float, Field(ge=-largest, le=largest)]
    row = Annotated[list[number], Field(min_length=shape[1], max_length=shape[1])]
    return Annotated[list[row], Field(min_length=shape[0], max_length=shape[0])]


def numbers(where: str, words: Sequence[str], expected: int) -> list[np.float32]:
    """Read `expected` numbers; a ParkfError names a wrong one by `where` and its position."""
    if len(words) != expected:
        raise ParkfError(f"{where}: {len(words)} values, expected {expected}")
    return [number(f"{where} number {i}", word) for i, word in enumerate(words)]


def number(where: str, word: str) -> np.float32:
    """Read the text of a number; what is no finite float32 raises a ParkfError."""
    try:
        with np.errstate(over="ignore"):
            read = np.float32(float(word))
    except ValueError as error:
        raise ParkfError(f"{where}: got {word!r:.40}, expected a number") from error
    if not np.isfinite(read):
        raise ParkfError(f"{where}: got {word!r:.40}, expected a finite number of float32")
    return read
