"""Strict parsing of JSON: as the standard library's, but without repeated keys, NaN and too large numbers."""

import json
import math
import re
from collections import Counter
from typing import Any

from parkf.io.documents.position import DEEPEST, DocumentError, Place, too_deep

# Escapes of half a character; most texts with one have the other half, too.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def parse(text: str) -> Any:
    """Parse JSON, in a time that is proportional to its length.

    A DocumentError reports text that is no JSON, a key that is there twice, NaN and infinities, a number
    beyond double precision, an integer beyond 64 bits, half a character, and too deep nesting.
    """
    try:
        content = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise DocumentError(f"{error.msg}, column {error.colno}", error.lineno) from error
    except RecursionError as error:
        raise too_deep() from error
    except ValueError as error:
        # Python refuses integers of thousands of digits.
        raise DocumentError(str(error)) from error
    _check([content], ())
    if _HALF.search(text):
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise DocumentError("got half a character, expected both halves (\\ud800\\udc00)") from error
    return content


def check_number(place: Place, line: int | None, value: object) -> None:
    """Raise a DocumentError for a number beyond double precision, or an integer beyond 64 bits."""
    if isinstance(value, float) and not math.isfinite(value):
        raise DocumentError(f"got {value}, expected a finite number in double precision", line, place)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        digits = len(str(abs(value)))
        raise DocumentError(f"got an integer of {digits} digits, expected one of 64 bits", line, place)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        (name, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise DocumentError(f"key '{name}' is there twice; keep one of them")
    return content


def _check(content: dict[str, Any] | list[Any], place: Place) -> None:
    """Check all numbers, and the depth of nesting; the outermost list has the whole content alone."""
    if len(place) > DEEPEST:
        raise too_deep()
    for name, one in content.items() if isinstance(content, dict) else enumerate(content):
        kind = type(one)
        if kind is dict or kind is list:
            _check(one, (*place, name))
        elif kind is float or kind is int:
            check_number((*place[1:], name) if place else (), None, one)
