"""Types of the options that commands, configuration and functions share."""

from typing import Literal, get_args

Interpolation = Literal["linear", "cubic"]
Outside = Literal["error", "zero"]
Scheme = Literal["smoother", "trigger"]
# Fitters that a set is trained for: this project's smoother, or LHCb's trigger.
Client = Literal["parkf", "trigger"]
# Where the tracks of a batch were born: in a collision in front of the material around the beam, or at their
# first hit, behind this material.
Origin = Literal["vertex", "first-hit"]
Precision = Literal["float32", "float64"]
Backend = Literal["cpu", "gpu"]
# auto chooses a GPU where there is one.
BackendChoice = Literal["cpu", "gpu", "auto"]
# Track segments for the pattern recognition: found from hits alone, or the true hits of each particle.
Segments = Literal["found", "truth"]
Signal = Literal["jpsi", "d0", "jpsi-ee", "gamma-ee"]
# Order of UT's backward rows in the trigger's file: for the trigger's code of 2026, which fits downstream
# tracks with these rows, or for older files and code.
UtRows = Literal["2026", "older"]
# A set of forms is the formulas and the layout of the parameters. Today the trigger runs production's.
FormsName = Literal["improved", "production"]
FORMS_NAMES: tuple[FormsName, ...] = get_args(FormsName)
