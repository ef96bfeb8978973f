"""Messages about a wrong value: what was found and expected, why, and the name that was probably meant."""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from difflib import get_close_matches
from typing import Any

from parkf.io.documents.position import Place, dotted

_LONGEST = 60
WHOLE, NUMBER, TEXT = "a whole number", "a number", "text"
# What some messages already end with.
_REMEDY = re.compile(r"; (?:write|keep|add|install|leave|set|if|correct) ")


def got(value: Any) -> str:
    """Show a value that was found."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing (null)"}[value]
    if isinstance(value, str):
        return f"the text '{_short(value)}'"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, date):
        return f"a date, {value}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Find the name that was probably meant."""
    near = get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return near[0] if near else None


def unknown(name: object, known: Collection[str]) -> str:
    """Report that there is no such name, and which was probably meant."""
    near = nearest(name, known)
    help_ = f"did you mean '{near}'?" if near else f"known here: {', '.join(sorted(known)) or 'nothing'}"
    return f"unknown key '{_short(str(name))}'; {help_}"


def without_echoes(mistakes: Iterable[tuple[Place, str]]) -> list[tuple[Place, str]]:
    """Remove mistakes that follow from others.

    If a key is misspelt, its correct name is missing, too. If entries of a list are wrong, it has too few.
    """
    found = list(mistakes)
    misspelt = [place for place, what in found if what.startswith("unknown key")]
    inner = {place[:length] for place, _ in found for length in range(len(place))}

    def echoes(place: Place, what: str) -> bool:
        if what.startswith("missing; "):
            return any(one[:-1] == place[:-1] and nearest(one[-1], [str(place[-1])]) for one in misspelt)
        return place in inner and " entries, expected " in what

    return [(place, what) for place, what in found if not echoes(place, what)]


def hint(value: Any, expected: str) -> str:
    """Return how to write a number that YAML reads as text, or the reverse; empty for other values."""
    if isinstance(value, str) and expected in (WHOLE, NUMBER):
        try:
            number = float(value)
        except ValueError:
            return ""
        return f"; write {number:g}, without quotes" if number == number else ""
    if isinstance(value, float) and expected == WHOLE and value.is_integer():
        return f"; write {value:.0f}, without a decimal point or an exponent"
    if expected == TEXT and not isinstance(value, str | Mapping | list) and value is not None:
        return "; write it in quotes"
    return ""


def said(where: str, place: Place, what: str) -> str:
    """Return file, position and problem in one line."""
    line = f"{where}: {dotted(place)}: {what}" if place else f"{where}: {what}"
    # Names from files may have line breaks and the like. They are escaped, so that a message is one line.
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in line)


def together(lines: Iterable[str], remedy: str = "correct it there") -> str:
    """Join the lines of all mistakes of a file; the last one has what to do, unless it has already."""
    text = "\n".join(lines)
    return text if _REMEDY.search(text.rpartition("\n")[2]) else f"{text}; {remedy}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
