"""The magnet's polarity as people say it."""

from parkf.io.errors import ParkfError

_SIGNS = {"up": 1, "down": -1}


def sign_of(name: str) -> int:
    """+1 of "up" (MagUp), -1 of "down" (MagDown).

    Raises
    ------
    ParkfError
        Of another word.
    """
    if name not in _SIGNS:
        raise ParkfError(f"polarity '{name}', expected up (MagUp) or down (MagDown)")
    return _SIGNS[name]
