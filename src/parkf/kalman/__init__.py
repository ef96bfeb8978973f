"""The Parameterised Kalman Filter: candidates in, fitted tracks at the beam line out."""

from parkf.kalman.fitted import (
    STATUS,
    STATUS_BITS,
    TREATED,
    Fitted,
    explain_status,
    explain_treated,
    status_names,
)
from parkf.kalman.fitter import fit, fit_file, fit_file_full

__all__ = [
    "STATUS",
    "STATUS_BITS",
    "TREATED",
    "Fitted",
    "explain_status",
    "explain_treated",
    "fit",
    "fit_file",
    "fit_file_full",
    "status_names",
]
