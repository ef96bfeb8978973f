"""What a fit must know of a layer of material: the width of the scattering and the mean loss of energy."""

import numpy as np
from numpy.typing import NDArray

from parkf import _transport
from parkf.detector.description import Material
from parkf.transport.surfaces import compiled_material


def layer_effects(
    material: Material,
    path: NDArray[np.float64],
    momentum: NDArray[np.float64],
    *,
    mass: float,
    share: float = 1.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Expect scattering and energy loss of unit charges, by the formulas that particles are simulated with.

    Parameters
    ----------
    material : Material
    path : (n,) float64
        Length within the whole layer, mm.
    momentum : (n,) float64
        MeV.
    mass : float
        MeV.
    share : float
        Part of the layer that is meant; Highland's logarithm is about the whole.

    Returns
    -------
    angle : (n,) float64
        Projected width of the scattering's core, rad; 0 where there is no path.
    loss : (n,) float64
        Bethe's mean loss of energy, MeV.
    """
    return _transport.layer_effects(
        compiled_material(material),
        np.ascontiguousarray(path, np.float64),
        np.ascontiguousarray(momentum, np.float64),
        mass=mass,
        share=share,
    )
