"""Fits to measure the parameterised one against: VELO hits alone, and the full fit of an offline analysis."""

from parkf.kalman.reference.full import fit_full
from parkf.kalman.reference.velo_only import fit_velo_only

__all__ = ["fit_full", "fit_velo_only"]
