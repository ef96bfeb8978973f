"""The parameter set: what the trigger's fitter reads, checked on the way in, explained on the way out."""

from parkf.parameters.manifest import Manifest
from parkf.parameters.parameter_set import ParameterSet, load

__all__ = ["Manifest", "ParameterSet", "load"]
