"""Track finding as a trigger does it: segments, matching through the magnet, UT hits, a first momentum."""

from parkf.simulation.pattern.candidates import find_candidates
from parkf.simulation.pattern.windows import Windows

__all__ = ["Windows", "find_candidates"]
