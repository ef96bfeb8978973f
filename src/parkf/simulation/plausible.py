"""Checks of what the simulation reads: particles and hits whose units, numbers or planes cannot be right."""

from pathlib import Path

import numpy as np

from parkf.detector.geometry import UT_PLANES, Geometry
from parkf.io.errors import ParkfError
from parkf.io.events import Columns
from parkf.io.units import Unit, require_finite, require_units

_MOMENTUM = {"p": Unit("MeV", 50.0, 3e3, 5e5)}
_PLACE = {"z": Unit("mm", 2.0, 500.0, 1e5)}
_HIT = {"sigma": Unit("mm", 1e-3, 0.1, 3.0)}
_MOST_CHARGE = 2


def check_particles(particles: Columns, path: Path) -> None:
    """Check particles of the table ``particles``; a ParkfError has the column, and what is wrong."""
    require_finite(path, particles, "mass", "x", "y", "z", "px", "py", "pz")
    wrong = np.flatnonzero(np.abs(particles["charge"]) > _MOST_CHARGE)
    if len(wrong):
        got = particles["charge"][wrong[0]]
        raise ParkfError(
            f"{path}: column 'charge', row {wrong[0]}: got {got}, expected elementary charges from"
            f" -{_MOST_CHARGE} to {_MOST_CHARGE}; correct the row"
        )
    p = np.sqrt(sum(particles[name] ** 2 for name in ("px", "py", "pz")))
    try:
        require_units(path, {"p": p[particles["charge"] != 0]}, _MOMENTUM)
    except ParkfError as error:
        raise ParkfError(f"{error}; momenta in GeV are multiplied by 1000") from error
    require_units(path, particles, _PLACE)


def check_hits(hits: Columns, path: Path, geometry: Geometry) -> None:
    """Check hits of the table ``hits`` on the planes of a geometry; a ParkfError has what is wrong."""
    require_finite(path, hits, "x", "y", "z", "dxdy", "dzdy", "sigma")
    z = geometry.planes()[:, 0]
    wrong = np.flatnonzero((hits["plane"] < 0) | (hits["plane"] >= len(z)))
    if len(wrong):
        got = hits["plane"][wrong[0]]
        raise ParkfError(
            f"{path}: column 'plane', row {wrong[0]}: got {got}, expected a plane from 0 to {len(z) - 1};"
            " correct the row"
        )
    behind = hits["plane"] >= UT_PLANES.start
    ratio = float(np.median(hits["z"][behind] / z[hits["plane"][behind]])) if behind.any() else 1.0
    if not 0.5 < ratio < 2.0:
        raise ParkfError(
            f"{path}: column 'z' is {ratio:.3g} times the z of the planes, expected mm, about 1; multiply"
            f" lengths by {1 / ratio:.3g}"
        )
    require_units(path, hits, _HIT)
