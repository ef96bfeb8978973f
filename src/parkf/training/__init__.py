"""Training of a set: step datasets, fits of every step, the magnet table, its closure, the ghost score.

Fits depend on each other in one direction: slopes come before positions, p before the noise, and steps before
the closure. If a minimum is not valid, the job ends and reports the reason. Each fit keeps values, errors and
correlations.
"""

MOST_ROWS = 4_000_000
"""Largest number of rows that a step's accuracy is measured on, which determines it to a thousandth."""
ROWS_OF_A_PLANE = 1_000_000
"""Largest number of rows for a RICH plane. With a tenth of them, the fit changes by about its errors."""
