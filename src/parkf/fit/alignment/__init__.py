"""Alignment from fitted tracks: derivatives of residuals, and a solver."""
