"""Distance of figures from their bars, for gates and for the lights of steps.

A missed gate is red. A gate that is met with less room than :data:`NEAR` of its bar is amber; others are
green. The light of a step has the worst colour of the gates on figures of this step.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from parkf.params.manifest import Gate
from parkf.proof.gates.thresholds import Threshold, Thresholds, split_figure

# Fraction of the bar; less room than this is little.
NEAR = 0.1

Colour = Literal["green", "amber", "red", "none"]


def room(gate: Gate) -> float | None:
    """Return the distance to the nearest bound, divided by half of the interval or by the single bound.

    It is negative beyond the bound, and None for a figure that was not measured.
    """
    if gate.value is None:
        return None
    least, most = gate.at_least, gate.at_most
    if least is not None and most is not None:
        return min(gate.value - least, most - gate.value) / ((most - least) / 2 or 1.0)
    bound = most if least is None else least
    if bound is None:
        return None
    left = gate.value - bound if most is None else bound - gate.value
    return left / (abs(bound) or 1.0)


def colour(gate: Gate) -> Colour:
    """Return the colour of one gate."""
    left = room(gate)
    if not gate.met:
        return "red"
    return "amber" if left is not None and left < NEAR else "green"


def unmeasured(gate: Gate) -> bool:
    """Whether a gate is not met because its figure is missing, or has too large an error."""
    left = room(gate)
    return not gate.met and (left is None or left >= 0)


def nearest(gates: Iterable[Gate]) -> list[Gate]:
    """Sort gates by their room, missed ones first."""

    def key(gate: Gate) -> tuple[bool, float]:
        left = room(gate)
        # A gate without a number, such as one on a comparison, is far from its bar, or missed by far.
        return gate.met, (math.inf if gate.met else -math.inf) if left is None else left

    return sorted(gates, key=key)


@dataclass(frozen=True)
class Light:
    """Colour of a step, and the gate that decides it; ``none`` if no gate has figures of the step."""

    colour: Colour
    gate: Gate | None

    @property
    def reason(self) -> str:
        """Figure, bar and room of the gate."""
        if self.gate is None:
            return "no gate looks at it"
        left = room(self.gate)
        side = "left" if left is None or left >= 0 else "beyond"
        rest = "" if left is None else f"; {abs(100 * left):.0f} % of the bar {side}"
        return f"{self.gate.what}: {self.gate.measured} (bar {self.gate.bar}{rest})"


def step_light(step: str, gates: Sequence[Gate], thresholds: Thresholds) -> Light:
    """Return the light of a step, from its gates among the results of :func:`parkf.proof.gates.hold`."""
    looking = {one.gate for one in thresholds.gates if _looks_at(one, step)}
    own = nearest(gate for gate in gates if gate.what in looking)
    return Light(colour(own[0]), own[0]) if own else Light("none", None)


def _looks_at(threshold: Threshold, step: str) -> bool:
    file, path = split_figure(threshold.figure)
    if file != "accuracy":
        return False
    if path.startswith("table/"):
        # The step whose forms are the magnet table.
        return step == "UTTF"
    found = re.match(r"steps/([^/\[]+)", path)
    # In T.gap3 and V.*, the name of the step is the part before the dot.
    return found is not None and any(
        fnmatchcase(step, name.partition(".")[0]) for name in found[1].split("|")
    )
