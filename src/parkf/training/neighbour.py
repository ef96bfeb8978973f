"""The fit for a similar detector, as a start for the fit for another detector."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.option_types import FormsName
from parkf.model.steps import FORMS
from parkf.model.steps.frozen import forms_of
from parkf.params.binary_form import MANIFEST_FILE
from parkf.params.configuration import start_file
from parkf.params.parameter_set import load
from parkf.training.fit_noise import fitted_numbers, way_through_magnet
from parkf.training.result import FitResult


@dataclass(frozen=True)
class Neighbour:
    """Fitted parameters (m,) of each set of a step for a similar detector, and the SHA-256 of their file."""

    values: Sequence[NDArray[np.float64]]
    fingerprint: str


def neighbour(place: Path, step: str, forms: FormsName) -> Neighbour:
    """Read the numbers from which the fit of a step starts.

    `place` is ``fits/<step>.json`` of another run, or the folder of a run or of a parameter set: see
    :func:`parkf.params.configuration.start_file`. The noise of a set is converted to the noise of its fits,
    without the factors of its configuration. A ParkfError reports numbers that belong to other formulas.
    """
    file = start_file(place, step)
    if file.name == MANIFEST_FILE:
        parameters = load(file.parent)
        if parameters.manifest.forms != forms:
            raise ParkfError(f"{file}: forms '{parameters.manifest.forms}', expected '{forms}' to start from")
        manifest = parameters.manifest
        _check_formula(file, step, forms, manifest.steps.get(step))
        # The set may be of an older layout, in which other steps differ.
        own = forms_of(forms, manifest.formulas)
        held = {name: parameters.block(name).astype(np.float64) for name in own.steps}
        way = way_through_magnet(parameters.layout, parameters.constant)
        numbers = fitted_numbers(own, held, manifest.configuration, way)
        return Neighbour(list(numbers[step]), sha256(file))
    result = FitResult.load(file)
    if (result.step, result.forms) != (step, forms):
        got = f"step {result.step}, forms '{result.forms}'"
        raise ParkfError(f"{file}: fit of {got}; expected step {step}, forms '{forms}' to start from")
    _check_formula(file, step, forms, result.formula)
    return Neighbour(list(result.numbers), sha256(file))


def _check_formula(path: Path, step: str, forms: FormsName, formula: str | None) -> None:
    """Refuse parameters that belong to other formulas, where the same parameter has another meaning."""
    if formula != FORMS[forms].steps[step].formula_hash():
        raise ParkfError(
            f"{path}: other formulas than step {step} has now; start from a fit of the same, or from none"
        )
