"""The ghost score: small networks that use what the fit measures, trained on the training sample."""

CROSSINGS = 500
"""Crossings of each polarity that a score is trained on: the first ones of the training sample.

They contain 77,000 candidates. With a cut that keeps 91 % of the genuine tracks in a default run's
validation, the two networks keep 7.8 and 3.5 % of the ghosts. Twice as many crossings lead to the same
result; half as many lead to 7.9 and 3.7 %.
"""
