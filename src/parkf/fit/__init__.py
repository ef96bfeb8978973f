"""The Parameterised Kalman Filter: it fits track candidates, and returns tracks at the beam line.

The same C++ runs on CPU and GPU, in float32 and float64. :mod:`parkf.fit.reference` has the fits that it is
compared with. :mod:`parkf.fit.consumer` has the C++ header for other programs. :mod:`parkf.fit.truth` joins
fitted tracks with the particles that they belong to.
"""

from parkf.fit.fitted import (
    STATUS,
    STATUS_BITS,
    TREATED,
    WARNINGS,
    Fitted,
    explain_status,
    is_good,
)
from parkf.fit.fitter import fit, fit_file, fit_file_full

__all__ = [
    "STATUS",
    "STATUS_BITS",
    "TREATED",
    "WARNINGS",
    "Fitted",
    "explain_status",
    "fit",
    "fit_file",
    "fit_file_full",
    "is_good",
]
