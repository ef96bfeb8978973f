"""Numbers of parameter sets in the datasets of the steps, and how many rows each set may keep."""

SETS = {"V": 2, "VUT": 1, "UT": 6, "UTTF": 1, "TFT": 1, "T": 22, "BEAM": 2}
"""Number of parameter sets of each step that has a dataset."""

TOGETHER = {"T": 2}
"""Number of adjacent sets whose rows stay in the order of their tracks: both sides of a gap; else 1."""


def rows_of_set(step: str, max_rows: int) -> int:
    """Rows that each parameter set of a step may keep, of `max_rows` in its dataset."""
    return max_rows // SETS[step]
