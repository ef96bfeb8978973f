"""The ghost score: small networks on what the fit knows of a track, trained on the training sample."""

CROSSINGS = 500
"""Crossings of each polarity that a score is trained on: the first ones of the training sample.

They contain 77,000 candidates. Where 91 % of the genuine tracks of a default run's validation are kept, the
two networks keep 7.8 and 3.5 % of the ghosts, as with twice as many; with half as many, 7.9 and 3.7 %.
"""
