"""The fit to compare the parameterised fit with: the full fit of an offline analysis."""
