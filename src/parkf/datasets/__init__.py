"""Step datasets: true origin, true target and extrapolated target of every step of the fit."""

from parkf.datasets.builder import build_rows, gather_rows
from parkf.datasets.checks import check_dataset
from parkf.datasets.lottery import draw
from parkf.datasets.thresholds import find_thresholds

__all__ = ["build_rows", "check_dataset", "draw", "find_thresholds", "gather_rows"]
