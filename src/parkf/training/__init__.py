"""Fits of the step functions' parameters, of the process noise, and of the magnet table."""

from parkf.training.parts import Part, PartResult, join_parts
from parkf.training.result import FitResult
from parkf.training.train import train_part, train_step

__all__ = ["FitResult", "Part", "PartResult", "join_parts", "train_part", "train_step"]
