"""Distance of figures from their gates' bars.

A gate is near if it is met with less room than :data:`NEAR` of its bar.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from parkf.params.manifest import Gate

# Fraction of the bar; less room than this is little.
NEAR = 0.1


def room(gate: Gate) -> float | None:
    """Return the room of a gate's figure (:func:`room_of`); None for a figure that was not measured."""
    return None if gate.value is None else room_of(gate.value, gate.at_least, gate.at_most)


def room_of(value: float, least: float | None, most: float | None) -> float | None:
    """Return the distance to the nearest bound, divided by half of the interval or by the single bound.

    It is negative beyond the bound and infinite for NaN; without any bound it is None.
    """
    if not math.isfinite(value):
        return -math.inf
    if least is not None and most is not None:
        return min(value - least, most - value) / ((most - least) / 2 or 1.0)
    bound = most if least is None else least
    if bound is None:
        return None
    left = value - bound if most is None else bound - value
    return left / (abs(bound) or 1.0)


def unmeasured(gate: Gate) -> bool:
    """Whether a gate is not met because its figure is missing, or has too large an error."""
    left = room(gate)
    return not gate.met and (left is None or left >= 0)


def verdict(gate: Gate) -> str:
    """Return ``met``, ``missed`` or ``not measured``."""
    return "met" if gate.met else "not measured" if unmeasured(gate) else "missed"


def count(gates: Sequence[Gate]) -> str:
    """Count gates by their verdicts: ``54 gates: 52 met, 2 missed, 0 not measured``."""
    numbers = Counter(map(verdict, gates))
    words = ", ".join(f"{numbers[word]} {word}" for word in ("met", "missed", "not measured"))
    return f"{len(gates)} gates: {words}"


def nearest(gates: Iterable[Gate]) -> list[Gate]:
    """Sort gates by their room, missed ones first."""

    def key(gate: Gate) -> tuple[bool, float]:
        left = room(gate)
        # A gate without a number, such as one on a comparison, is far from its bar, or missed by far.
        return gate.met, (math.inf if gate.met else -math.inf) if left is None else left

    return sorted(gates, key=key)
