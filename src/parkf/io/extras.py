"""Packages that only an extra of parkf installs: what to do where one is missing."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import requires

from parkf.io.errors import ParkfError

_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+).*extra == ['\"](\w+)['\"]")


def how_to_install(error: ModuleNotFoundError) -> str | None:
    """Name the package that is missing, and the extra with it; None if it is of no extra of parkf."""
    module = (error.name or "").partition(".")[0]
    for found in map(_REQUIREMENT.match, requires("parkf") or ()):
        if found and module != "parkf" and found[1].replace("-", "_").lower() == module.lower():
            return (
                f"{module}: this package is not installed, expected here; install parkf with it:"
                f" pip install 'parkf[{found[2]}]'"
            )
    return None


@contextmanager
def extras_named() -> Iterator[None]:
    """Turn the error about a missing package into a ParkfError that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        text = how_to_install(error)
        if text is None:
            raise
        raise ParkfError(text) from error
