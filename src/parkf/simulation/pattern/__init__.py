"""Track finding as in a trigger: segments, their matching through the magnet, UT hits, a first momentum."""

from parkf.simulation.pattern.candidates import find_candidates

__all__ = ["find_candidates"]
