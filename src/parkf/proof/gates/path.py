"""Paths of figures in a JSON document: names separated by ``/``, with conditions on lists.

``fits/parkf/momentum[p_min>=5,p_max<=50]/core`` is the core of every bin between 5 and 50 GeV;
``steps/T.gap3|T.gap7/*[p_min>=3]/ratio_rms`` is a figure of all components of two steps.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

_PART = re.compile(r"(?P<names>[^/\[\]]+)(?:\[(?P<conditions>[^/\[\]]+)\])?")
_CONDITION = re.compile(r"(?P<key>\w+)(?P<sign>>=|<=|=)(?P<value>[\w.+-]+)")
# A part of a document, its exact path, the parts that were left open, and the crossings it was measured with.
_Place = tuple[Any, str, list[str], int | None]
_SIGNS = {">=": operator.ge, "<=": operator.le, "=": operator.eq}


@dataclass(frozen=True)
class Found:
    """A figure in a document."""

    path: str  # its exact path
    place: str  # the parts that wildcards and conditions left open; empty without them
    value: float
    error: float | None  # value of ``<name>_error`` next to it
    tracks: int | None = None  # value of ``n`` next to it
    crossings: int | None = (
        None  # that it was measured with: the nearest value of this name, or of the counts
    )


def find(document: Any, path: str) -> Iterator[Found]:
    """Yield all numbers at a path, in the document's order; a wrong path raises a ValueError."""
    *outer, (names, _) = [_part(text) for text in path.split("/")]
    counts = document.get("counts") if isinstance(document, dict) else None
    places: list[_Place] = [(document, "", [], (counts or {}).get("crossings"))]
    for part in outer:
        places = [inner for place in places for inner in _inside(*place, *part)]
    for value, where, open_parts, crossings in places:
        for name, number in value.items() if isinstance(value, dict) else ():
            if _matches(name, names) and isinstance(number, int | float) and not isinstance(number, bool):
                about = value.get(f"{name}_error"), value.get("n"), crossings
                yield Found(f"{where}{name}", ", ".join(open_parts), number, *about)


def _part(text: str) -> tuple[str, list[Callable[[Any], bool]]]:
    found = _PART.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no part of a path; expected a name, or a list's name[key>=value]")
    return found["names"], [_condition(one) for one in (found["conditions"] or "").split(",") if one]


def _condition(text: str) -> Callable[[Any], bool]:
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no condition; expected key=value, key>=value or key<=value")
    key, compare, value = found["key"], _SIGNS[found["sign"]], found["value"]
    with suppress(ValueError):
        value = float(value)

    def holds(item: Any) -> bool:
        got = item.get(key) if isinstance(item, dict) else None
        kind = str if isinstance(value, str) else int | float
        return isinstance(got, kind) and compare(got, value)

    return holds


def _inside(
    value: Any,
    where: str,
    open_parts: list[str],
    crossings: int | None,
    names: str,
    conditions: list[Callable[[Any], bool]],
) -> Iterator[_Place]:
    for name, inner in value.items() if isinstance(value, dict) else ():
        if not _matches(name, names):
            continue
        named = [*open_parts, name] if "*" in names or "|" in names else open_parts
        several = isinstance(inner, list)
        if conditions and not several:
            continue
        for number, item in enumerate(inner if several else [inner]):
            if all(holds(item) for holds in conditions):
                there = f"{where}{name}[{number}]/" if several else f"{where}{name}/"
                known = item.get("crossings", crossings) if isinstance(item, dict) else crossings
                yield item, there, [*named, *_bin(item)] if several else named, known


def _matches(name: str, names: str) -> bool:
    return any(fnmatchcase(name, one) for one in names.split("|"))


def _bin(item: Any) -> list[str]:
    """Describe the direction, slice, charge and momenta (GeV) of an item of a list."""
    if not isinstance(item, dict):
        return []
    names = []
    if {"eta_min", "eta_max"} <= item.keys():
        names.append(f"η {item['eta_min']:g}–{item['eta_max']:g}")
    if {"phi_min", "phi_max"} <= item.keys():
        low, high = (math.degrees(item[edge]) for edge in ("phi_min", "phi_max"))
        names.append(f"φ {low:g}° to {high:g}°")
    if {"low", "high"} <= item.keys():
        names.append(f"{item['low']:g} to {item['high']:g}")
    if "plane" in item:
        names.append(item["plane"])
    if "charge" in item:
        names.append("charge +" if item["charge"] > 0 else "charge −")
    if {"p_min", "p_max"} <= item.keys():
        names.append(f"{item['p_min']:g}–{item['p_max']:g} GeV")
    return names
