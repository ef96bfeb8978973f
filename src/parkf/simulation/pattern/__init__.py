"""Track finding as a trigger does it: segments, matching through the magnet, UT hits, a first momentum."""

from parkf.simulation.pattern.candidates import find_candidates

__all__ = ["find_candidates"]
