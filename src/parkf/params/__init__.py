"""Parameter sets: the files that a fitter reads, the registry of published sets, and their exchange.

Loading a set checks its sizes, its checksums and its manifest, and refuses what does not match. Publishing
is atomic and append-only. A set keeps the layout that it was published with.
"""

from parkf.params.manifest import Manifest
from parkf.params.parameter_set import ParameterSet, load

__all__ = ["Manifest", "ParameterSet", "load"]
