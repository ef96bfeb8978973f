"""The Parameterised Kalman Filter: candidates in, fitted tracks at the beam line out."""

from parkf.kalman.fitted import STATUS, TREATED, Fitted, explain_status, explain_treated
from parkf.kalman.fitter import fit, fit_file, fit_file_full

__all__ = [
    "STATUS",
    "TREATED",
    "Fitted",
    "explain_status",
    "explain_treated",
    "fit",
    "fit_file",
    "fit_file_full",
]
