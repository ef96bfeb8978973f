"""Alignment from fitted tracks: derivatives of residuals, Millepede's files, and a solver."""
