"""A trained set for another alignment: rows carried to the moved planes, and steps trained that need it.

What depends on the alignment is derived from the rows: each begins and ends in a plane, or in none. A shift
along a plane moves hits, and no step. The numbers of steps whose rows lie in planes that moved are trained
anew where they would move by more than :data:`LARGEST_SHIFT` of their errors. Magnet table, slices, electrons
and ghost score know nothing of single planes, or hardly anything (:mod:`parkf.training.closure.close`), and
are kept.
"""

LARGEST_SHIFT = 0.3
"""Errors by which a number may be off, of which a twentieth is then added to its error."""
