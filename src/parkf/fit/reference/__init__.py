"""Fits to measure the parameterised one against: VELO hits alone, and the full fit of an offline analysis."""
