"""Training of a set: step datasets, fits of every step, the magnet table, its closure, the ghost score.

Fits depend on each other in one direction: slopes before positions, p before the noise, steps before the
closure. A minimum that is not valid ends the job with the reason. Each fit keeps values, errors and
correlations.
"""
