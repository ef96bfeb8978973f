"""Checks of imported data by physics: it is extrapolated and measured, whatever its header says."""

from parkf.doors.inspection import Figure, Finding, Inspection

__all__ = ["Figure", "Finding", "Inspection"]
