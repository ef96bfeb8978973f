"""Where a fit starts from: another run, one of its fits, or a parameter set."""

from pathlib import Path

import numpy as np

from parkf.choices import FormsName
from parkf.errors import ParkfError
from parkf.files import sha256
from parkf.parameters.assembly import widenings
from parkf.parameters.parameter_set import MANIFEST_FILE, load
from parkf.steps import FORMS
from parkf.training.neighbour import Neighbour, check_formula, fitted_neighbour
from parkf.workflow import start_file


def neighbour(place: Path, step: str, forms: FormsName) -> Neighbour:
    """Read what a fit starts from, of a step of these forms.

    Parameters
    ----------
    place : Path
        See :func:`parkf.workflow.start_file`. Of a set the noise is taken as it was fitted: without the
        factor that its configuration made it wider by.

    Raises
    ------
    ParkfError
        When there is none, or it is of another step, other forms or other formulas.
    """
    file = start_file(place, step)
    if file.name != MANIFEST_FILE:
        return fitted_neighbour(file, step, forms)
    parameters = load(file.parent)
    manifest = parameters.manifest
    if manifest.forms != forms:
        raise ParkfError(f"{file}: forms '{manifest.forms}', expected '{forms}' to start from")
    check_formula(file, step, forms, manifest.steps.get(step))
    grown = widenings(FORMS[forms], manifest.configuration)[step]
    values = parameters.block(step).astype(np.float64) / grown
    return Neighbour(list(values), sha256(file))
