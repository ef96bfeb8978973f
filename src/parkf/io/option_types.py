"""Types of the options that commands, configuration and functions share."""

from typing import Literal, get_args

Interpolation = Literal["linear", "cubic"]
Outside = Literal["error", "zero"]
Scheme = Literal["smoother", "trigger", "velo_only"]
# Fitters that a set is trained for: this project's smoother, or LHCb's trigger.
Client = Literal["parkf", "trigger"]
Precision = Literal["float32", "float64"]
Backend = Literal["cpu", "gpu"]
# auto: a GPU where there is one.
BackendChoice = Literal["cpu", "gpu", "auto"]
# Segments of the pattern recognition: found from hits alone, or the hits of particles, by truth.
Segments = Literal["found", "truth"]
Signal = Literal["jpsi", "d0"]
# Order of UT's backward rows in the trigger's file: for its code of 2026, which fits downstream tracks with
# them, or for files and code before.
UtRows = Literal["2026", "older"]
# Sets of forms: formulas and layout of the parameters. Production's are what the trigger runs today.
FormsName = Literal["improved", "production"]
FORMS_NAMES: tuple[FormsName, ...] = get_args(FormsName)
