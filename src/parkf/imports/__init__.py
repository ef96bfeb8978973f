"""Import of foreign formats: fields, geometries, alignments, hits and step datasets of others.

Each format has its physics checks beside it: imported data are extrapolated and measured, and their header is
not trusted. A file that contradicts its description is refused, with a message that has the decisive number.
"""
