"""Fits of the step functions' parameters, of the process noise, and of the magnet table."""

from parkf.training.result import FitResult
from parkf.training.train import train_step

__all__ = ["FitResult", "train_step"]
