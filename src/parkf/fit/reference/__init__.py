"""Fits to compare the parameterised fit with: of VELO hits alone, and the full fit of an offline analysis."""
