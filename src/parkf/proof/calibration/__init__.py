"""Calibration of a detector from data without truth: positions, field, hit errors, scattering."""

FILES = ("calibration.json", "alignment.yaml", "geometry.yaml", "field.npz")
"""Files that a calibration writes into its folder."""
