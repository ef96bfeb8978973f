"""Step functions and noise models of the Parameterised Kalman Filter; everything else derives from them."""

from parkf.model.steps.forms import FORMS, STEP_NAMES, Forms
from parkf.model.steps.step import Step

__all__ = ["FORMS", "STEP_NAMES", "Forms", "Step"]
