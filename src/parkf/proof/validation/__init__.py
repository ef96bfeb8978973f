"""Measures fitted candidates against the truth: resolution, bias, pulls, ghosts."""
