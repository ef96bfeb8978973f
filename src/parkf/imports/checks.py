"""Checks of many imported numbers at once, which name the first one that is wrong."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError


def require_all(right: NDArray[np.bool_] | Any, message: Callable[[int], str]) -> None:
    """Raise a ParkfError unless all of `right` is true; `message` gets the number of the first false one."""
    if not right.all():
        raise ParkfError(message(int(np.argmin(right))))


def require_finite(columns: Mapping[str, NDArray[Any]], where: Callable[[str, int], str]) -> None:
    """Raise a ParkfError if a number is not finite; `where` gets its column and row, and names them."""
    for name, values in columns.items():
        message = lambda row, name=name: f"{where(name, row)} is not a finite number"  # noqa: E731
        require_all(np.isfinite(values.astype(np.float64)), message)
