"""Fits of the step functions' parameters, of the process noise, and of the magnet table."""
