"""Checks of what the simulation reads: particles and hits whose units, numbers or planes cannot be right."""

from pathlib import Path

import numpy as np

from parkf.detector.geometry import UT_PLANES, Geometry
from parkf.io.checks import MOMENTUM, Unit, finite, require, require_units, within
from parkf.io.errors import ParkfError
from parkf.io.events import Columns
from parkf.simulation.particles import momentum

_MASS = ("mass", lambda mass: mass > 0.0, "MeV, above 0")
_CHARGE = ("charge", within(-2, 2), "elementary charges from -2 to 2")


def check_particles(particles: Columns, path: Path) -> None:
    """Check particles of the table ``particles``; a ParkfError has the column, and what is wrong."""
    require(path, particles, *finite("mass", "x", "y", "z", "px", "py", "pz"), _CHARGE, _MASS)
    p = momentum(particles)[particles["charge"] != 0]
    require_units(path, {"p": p} | particles, {"p": MOMENTUM, "z": Unit("mm", 2.0, 500.0, 1e5)})


def check_hits(hits: Columns, path: Path, geometry: Geometry) -> None:
    """Check hits of the table ``hits`` on the planes of a geometry; a ParkfError has what is wrong."""
    z = geometry.planes()[:, 0]
    on_plane = ("plane", within(0, len(z) - 1), f"a plane from 0 to {len(z) - 1}")
    require(path, hits, *finite("x", "y", "z", "dxdy", "dzdy", "sigma"), on_plane)
    behind = hits["plane"] >= UT_PLANES.start
    ratio = float(np.median(hits["z"][behind] / z[hits["plane"][behind]])) if behind.any() else 1.0
    if not 0.5 < ratio < 2.0:
        raise ParkfError(
            f"{path}: column 'z' is {ratio:.3g} times the z of the planes, expected mm, about 1; multiply"
            f" lengths by {1 / ratio:.3g}"
        )
    require_units(path, hits, {"sigma": Unit("mm", 1e-3, 0.1, 3.0)})
