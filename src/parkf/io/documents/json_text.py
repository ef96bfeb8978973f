"""Strict parsing of JSON, which finds the line of every value once something is wrong.

The standard library's parser is fast, but does not report lines, keeps the last value of a duplicate key, and
accepts NaN as a number. Suspicious text is parsed again, value by value.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from parkf.io.documents.position import DEEPEST, DocumentError, Place, too_deep, twice

# Escapes of half a character; most texts with one have the other half, too.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(r'[\[\]{}:,]|"(?:[^"\\]|\\.)*"|[^\s\[\]{}:,"]+')


def parse(text: str) -> Any:
    """Parse JSON, in a time that is proportional to its length.

    A DocumentError reports text that is no JSON, a key that is there twice, NaN and infinities, a number
    beyond double precision, an integer beyond 64 bits, half a character, and too deep nesting.
    """
    try:
        content = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        depth, is_finite = _looked_through([content])
    except _SuspicionError as suspicion:
        # Go through the same text value by value, which raises the error with its place.
        for _ in _values(text):
            pass
        raise DocumentError(str(suspicion)) from None
    except json.JSONDecodeError as error:
        raise DocumentError(f"{error.msg}, column {error.colno}", error.lineno) from error
    except RecursionError as error:
        raise too_deep() from error
    except ValueError as error:
        # Python refuses integers of thousands of digits.
        found = re.search(r"(?<!\d)\d{640,}", text)
        if found is None:
            raise DocumentError(str(error)) from error
        what = f"got an integer of {len(found.group())} digits, expected one of 64 bits"
        raise DocumentError(what, text.count("\n", 0, found.start()) + 1) from error
    if depth > DEEPEST + 1:
        raise too_deep()
    if not is_finite or _HALF.search(text):
        for place, line, value in _values(text):
            check_number(place, line, value)
            check_text(place, line, value)
    return content


def lines(text: str) -> dict[Place, int]:
    """Return the line of each value, or of its key, of a text that :func:`parse` accepts."""
    return {place: line for place, line, _ in _values(text)}


def check_number(place: Place, line: int | None, value: object) -> None:
    """Raise a DocumentError for a number beyond double precision, or an integer beyond 64 bits."""
    if isinstance(value, float) and not math.isfinite(value):
        raise DocumentError(f"got {value}, expected a finite number in double precision", line, place)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        digits = len(str(abs(value)))
        raise DocumentError(f"got an integer of {digits} digits, expected one of 64 bits", line, place)


def check_text(place: Place, line: int | None, value: object) -> None:
    """Raise a DocumentError if a text, or the key that leads to a value, has half of a surrogate pair."""
    try:
        "".join(one for one in (*place[-1:], value) if isinstance(one, str)).encode()
    except UnicodeEncodeError as error:
        raise DocumentError("got half a character, expected both halves (\\ud800\\udc00)", line) from error


class _SuspicionError(Exception):
    """An error in JSON text that the standard library accepts."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = Counter(key for key, _ in pairs)
        raise _SuspicionError(f"key '{next(key for key in names if names[key] > 1)}' is there twice")
    return content


def _no_constant(name: str) -> None:
    raise _SuspicionError(f"{name} is no JSON")


def _values(text: str) -> Iterator[tuple[Place, int, Any]]:
    """Iterate over JSON without recursion: position, line and value, which is None for lists and mappings.

    A DocumentError reports a key that occurs twice, NaN and infinities, and too deep nesting.
    """
    # Open lists and mappings, outermost first: the position of each, with the lines of the keys of a mapping,
    # or the number of entries of a list so far.
    open_: list[tuple[Place, dict[str, int] | list[int]]] = []
    key: str | None = None
    at, line, begin = 0, 1, 1
    for token in _TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        at, sign = token.start(), token.group()
        if sign in ",:":
            continue
        if sign in "]}":
            open_.pop()
            continue
        place: Place = ()
        outer, inside = open_[-1] if open_ else ((), None)
        if isinstance(inside, dict):
            if key is None:
                key, begin = json.loads(sign), line
                if key in inside:
                    raise twice(key, line, inside[key])
                inside[key] = line
                continue
            # The line of a member is that of its key.
            place, key = (*outer, key), None
        else:
            begin = line
            if inside is not None:
                place = (*outer, inside[0])
                inside[0] += 1
        if sign in "[{":
            if len(open_) >= DEEPEST:
                raise too_deep(line)
            open_.append((place, {} if sign == "{" else [0]))
            yield place, begin, None
        else:
            yield place, begin, _plain(place, line, sign)


def _plain(place: Place, line: int, word: str) -> Any:
    if word in ("NaN", "Infinity", "-Infinity"):
        raise DocumentError(f"got {word}, expected a finite number", line, place)
    try:
        return json.loads(word)
    except ValueError:
        # Such as NaN1, in which the standard library sees NaN.
        raise DocumentError(f"got {word[:20]}, expected a value", line, place) from None


def _looked_through(content: dict[str, Any] | list[Any]) -> tuple[int, bool]:
    """Return how deep lists and mappings are nested, and whether :func:`check_number` accepts all numbers."""
    depth, is_finite = 0, True
    for one in content.values() if isinstance(content, dict) else content:
        kind = type(one)
        if kind is dict or kind is list:
            below, is_good = _looked_through(one)
            depth, is_finite = max(depth, below), is_finite and is_good
        elif kind is float:
            is_finite = is_finite and math.isfinite(one)
        elif kind is int:
            is_finite = is_finite and -(2**63) <= one < 2**64
    return (depth + 1 if content else 0), is_finite
