"""Physics at the doors: what comes in is carried, bent and measured, whatever its header says."""

from parkf.doors.inspection import Figure, Finding, Inspection

__all__ = ["Figure", "Finding", "Inspection"]
