"""Import of foreign formats: fields, geometries, alignments, hits and step datasets of others.

Each format lies beside its physics checks: what is imported is extrapolated and measured, whatever its
header says. A file that contradicts its description is refused, with the quantity that shows it.
"""
