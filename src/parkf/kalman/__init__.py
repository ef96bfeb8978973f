"""The Parameterised Kalman Filter: candidates in, fitted tracks at the beam line out."""

from parkf.kalman.fitted import STATUS, Fitted, explain_status
from parkf.kalman.fitter import fit, fit_file, fit_file_full

__all__ = [
    "STATUS",
    "Fitted",
    "explain_status",
    "fit",
    "fit_file",
    "fit_file_full",
]
