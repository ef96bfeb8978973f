"""Parameter sets of the steps as their datasets count them, and how many rows each may keep."""

SETS = {"V": 2, "VUT": 1, "UT": 6, "UTTF": 1, "TFT": 1, "T": 22, "BEAM": 2}
"""Parameter sets of each step; also which steps have a dataset."""

TOGETHER = {"T": 2}
"""Neighbouring sets whose rows stay in the order of their tracks: both sides of a gap. 1 in other steps."""


def rows_of_set(step: str, max_rows: int) -> int:
    """Rows that each parameter set of a step may keep, of `max_rows` in its dataset."""
    return max_rows // SETS[step]
