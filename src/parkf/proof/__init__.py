"""Proof of a parameter set: validation against the truth, gates, and comparison with other sets.

Every figure has an error and belongs to a named sample. Gates compare figures with thresholds from one
file.
"""
