"""The embedded simulation: collisions, the detector's response, and a trigger's track finding.

Random numbers are counter-based, with keys of seed, event, particle and step. The same seed leads to the same
bytes, on any number of cores and in any number of chunks.
"""
