"""Step functions and noise models of the Parameterised Kalman Filter; everything else derives from them."""

from parkf.steps.forms import FORMS, STEP_NAMES, Forms
from parkf.steps.step import Parameter, Step

__all__ = ["FORMS", "STEP_NAMES", "Forms", "Parameter", "Step"]
