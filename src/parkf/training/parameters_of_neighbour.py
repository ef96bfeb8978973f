"""Start of a fit: another run, one of its fits, or a parameter set."""

from pathlib import Path

import numpy as np

from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.io.option_types import FormsName
from parkf.model.steps.frozen import forms_of
from parkf.params.configuration import start_file
from parkf.params.parameter_set import MANIFEST_FILE, load
from parkf.training.assembly import way_through_magnet
from parkf.training.fit_noise import fitted_numbers
from parkf.training.neighbour import Neighbour, check_formula, fitted_neighbour


def neighbour(place: Path, step: str, forms: FormsName) -> Neighbour:
    """Read the numbers from which the fit of a step starts.

    Parameters
    ----------
    place : Path
        See :func:`parkf.params.configuration.start_file`. Of a set the noise is that of its fits, without the
        factors of its configuration.

    Raises
    ------
    ParkfError
        When there are none, or they are of another step, other forms or other formulas.
    """
    file = start_file(place, step)
    if file.name != MANIFEST_FILE:
        return fitted_neighbour(file, step, forms)
    parameters = load(file.parent)
    manifest = parameters.manifest
    if manifest.forms != forms:
        raise ParkfError(f"{file}: forms '{manifest.forms}', expected '{forms}' to start from")
    check_formula(file, step, forms, manifest.steps.get(step))
    # The set may be of an older layout, in which other steps differ.
    own = forms_of(forms, manifest.formulas)
    held = {name: parameters.block(name).astype(np.float64) for name in own.steps}
    numbers = fitted_numbers(own, held, manifest.configuration, way_through_magnet(parameters))
    return Neighbour(list(numbers[step]), sha256(file))
