"""The embedded simulation: collisions, the detector's response, and a trigger's track finding.

Random numbers are counted, and keyed by seed, event, particle and step. The same seed leads to the same
bytes, on any number of cores and in any number of chunks.
"""
