"""Step datasets: true origin, true target and extrapolated target of every step of the fit."""

from parkf.datasets.builder import build_step_datasets
from parkf.datasets.checks import check_dataset

__all__ = ["build_step_datasets", "check_dataset"]
