"""Types of the options that commands, configuration and functions share."""

from typing import Literal, get_args

Interpolation = Literal["linear", "cubic"]
Outside = Literal["error", "zero"]
Scheme = Literal["smoother", "trigger", "velo_only"]
# Fitters that a set is trained for: this project's smoother, or LHCb's trigger.
Client = Literal["parkf", "trigger"]
Precision = Literal["float32", "float64"]
Backend = Literal["cpu", "gpu"]
# auto chooses a GPU where there is one.
BackendChoice = Literal["cpu", "gpu", "auto"]
# Segments of the pattern recognition: found from hits alone, or the hits of particles, by truth.
Segments = Literal["found", "truth"]
Signal = Literal["jpsi", "d0"]
# Order of UT's backward rows in the trigger's file: that of the trigger's code of 2026, which fits downstream
# tracks with them, or that of older files and code.
UtRows = Literal["2026", "older"]
# Sets of forms, which are formulas and layout of the parameters. The trigger runs those of production today.
FormsName = Literal["improved", "production"]
FORMS_NAMES: tuple[FormsName, ...] = get_args(FormsName)
