"""The ghost score: small networks on what the fit knows of a track, trained on the training sample."""

CROSSINGS = 500
"""Crossings of each polarity that a score is trained on: the first ones of the training sample.

They give 77,000 candidates. Of a default run's validation the two networks keep 7.8 and 3.5 % of the ghosts
where 91 % of the genuine tracks are kept, as with twice as many; with half as many 7.9 and 3.7 %.
"""
