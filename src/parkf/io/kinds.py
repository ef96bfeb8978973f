"""Kinds of tracks: the detectors that each kind has hits in, as the kernel lists them (fit/kind.hpp)."""

from dataclasses import dataclass

import parkf._pattern as _pattern
from parkf.io.errors import ParkfError


@dataclass(frozen=True)
class Kind:
    """A kind of tracks; its fit crosses the detectors that it has hits in."""

    name: str
    meaning: str
    velo: bool
    ut: bool
    scifi: bool


KINDS = {kind.name: kind for kind in (Kind(*one) for one in _pattern.kinds)}
LONG = KINDS["long"]


def kind_named(name: str) -> Kind:
    """Return a kind of tracks; a name that is none raises a ParkfError."""
    if name not in KINDS:
        raise ParkfError(f"kind '{name}': expected one of {', '.join(KINDS)}")
    return KINDS[name]
