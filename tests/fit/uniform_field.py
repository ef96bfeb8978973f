"""Steps inside the magnet for a field that is the same everywhere."""

import numpy as np

from parkf.model.steps import slices as formulas
from parkf.params.slices import MagnetSlices

# c in mm, MeV and T: q/p times this times the field is the curvature.
KAPPA = 0.299792458


def uniform(by=0.0, scatterers=()):
    """Slices of a field along y that is the same everywhere, in T."""
    numbers = np.zeros((formulas.SLICES, len(formulas.MAPS), *formulas.NODES))
    numbers[:, [one.name for one in formulas.MAPS].index("by")] = -KAPPA * by
    return MagnetSlices.of(numbers, np.full(formulas.SLICES, -KAPPA * by), tuple(scatterers), (0.0, 0.0))
