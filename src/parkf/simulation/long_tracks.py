"""Which particles make the long tracks that steps are trained on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, VELO_PLANES, Z_IN, Z_OUT
from parkf.detector.transport.particles import FEWEST_VELO_MODULES
from parkf.simulation.particles import ELECTRON, in_acceptance

P_MIN = 1400.0
ETA_RANGE = (1.9, 5.1)


def select_particles(particles: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Mask of particles to train on: no electrons (they radiate), p and η of usable tracks."""
    return in_acceptance(particles, ETA_RANGE, P_MIN) & (np.abs(particles["pdg_id"]) != ELECTRON)


def usable_states(states: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Mask of states that a step may start from or end at: on a sensor, or at an end of the magnet."""
    plane = states["plane"]
    return states["active"] | (plane == Z_IN) | (plane == Z_OUT)


def long_like(
    plane: NDArray[Any], active: NDArray[Any], track: NDArray[Any], count: int
) -> NDArray[np.bool_]:
    """Mask (count,) of tracks that may be long: at least three VELO hits, and the last SciFi layer reached.

    True states have a plane, whether they are inside its sensitive area, and the number of their track
    from 0, (m,) each.
    """
    velo = np.bincount(track[active & (plane < VELO_PLANES.stop)], minlength=count)
    last = np.bincount(track[active & (plane == SCIFI_PLANES[-1])], minlength=count)
    return (velo >= FEWEST_VELO_MODULES) & (last > 0)
