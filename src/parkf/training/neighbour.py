"""The fit for a similar detector, as a start for another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.option_types import FormsName
from parkf.model.steps import FORMS
from parkf.training.minimise import F64
from parkf.training.result import FitResult


@dataclass(frozen=True)
class Neighbour:
    """Result of a step's fit for a similar detector.

    `values` are all parameters (m,) of each set, as they were fitted; `fingerprint` is the SHA-256 of
    their file.
    """

    values: Sequence[F64]
    fingerprint: str


def fitted_neighbour(path: Path, step: str, forms: FormsName) -> Neighbour:
    """Read ``fits/<step>.json`` of another run.

    Raises
    ------
    ParkfError
        When it is missing, or of another step, other forms or other formulas.
    """
    result = FitResult.load(path)
    if (result.step, result.forms) != (step, forms):
        got = f"step {result.step}, forms '{result.forms}'"
        raise ParkfError(f"{path}: fit of {got}; expected step {step}, forms '{forms}' to start from")
    check_formula(path, step, forms, result.formula)
    return Neighbour([np.array(one.values) for one in result.sets], sha256(path))


def check_formula(path: Path, step: str, forms: FormsName, formula: str | None) -> None:
    """Make sure that start values belong to a step's current formulas.

    Raises
    ------
    ParkfError
        When they are not: the same parameter means something else then.
    """
    if formula != FORMS[forms].steps[step].formula_hash():
        raise ParkfError(
            f"{path}: other formulas than step {step} has now; start from a fit of the same, or from none"
        )
