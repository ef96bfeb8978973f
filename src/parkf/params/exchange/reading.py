"""Numbers from foreign files: exactly as many as expected, all finite, and none filled in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.io.documents import json_text
from parkf.io.errors import ParkfError
from parkf.io.files import existing


def read_object(path: Path, keys: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """Read a JSON object that has these keys, each once, and no other but optional ones; else ParkfError."""
    try:
        content = json_text.parse(existing(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ParkfError(f"{path}: not a JSON file: {error}") from error
    if not isinstance(content, dict):
        raise ParkfError(f"{path}: expected a JSON object, got {type(content).__name__}")
    for key in keys:
        if key not in content:
            raise ParkfError(f"{path}: block {key} is missing")
    for key in content:
        if key not in (*keys, *optional):
            raise ParkfError(f"{path}: block {key} is unknown, expected {', '.join(keys)}")
    return content


def rectangle(path: Path, name: str, rows: Any, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Read a list of rows, `shape` float32; another shape or a wrong number raises a ParkfError."""
    where = f"{path}: block {name}"
    if not isinstance(rows, list) or len(rows) != shape[0]:
        got = f"{len(rows)} sets" if isinstance(rows, list) else type(rows).__name__
        raise ParkfError(f"{where}: {got}, expected {shape[0]} sets")
    return np.array([numbers(f"{where} set {i}", row, shape[1], "index") for i, row in enumerate(rows)])


def numbers(where: str, values: Any, expected: int, each: str) -> list[np.float32]:
    """Read a list of `expected` numbers; a ParkfError names a wrong one by `where`, `each` and position."""
    if not isinstance(values, list) or len(values) != expected:
        got = f"{len(values)} values" if isinstance(values, list) else type(values).__name__
        raise ParkfError(f"{where}: {got}, expected {expected}")
    return [number(f"{where} {each} {i}", value) for i, value in enumerate(values)]


def number(where: str, value: Any) -> np.float32:
    """Read a JSON number, or the text of one; what is no finite float32 raises a ParkfError."""
    try:
        if isinstance(value, bool):
            raise TypeError
        with np.errstate(over="ignore"):
            read = np.float32(float(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise ParkfError(f"{where}: got {value!r:.40}, expected a number") from error
    if not np.isfinite(read):
        raise ParkfError(f"{where}: got {value!r:.40}, expected a finite number of float32")
    return read
