"""Weak modes: common displacements that residuals hardly see, and the samples that would show them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Magnet
from parkf.fit.alignment.derivatives import Elements
from parkf.fit.alignment.solve import Solution

Floats = NDArray[np.float64]

TOLD = 0.5
"""Data tell a mode if they bring its error below this share of the survey's."""
_FRAME = "no track, since all coordinates move; the beam line and surveys"


def _profiles(elements: Elements, magnet: Magnet) -> Iterator[tuple[str, str, Floats, str]]:
    """Yield name, freedom, displacement of each element (m,) with a largest one of 1, and the sample."""
    z = elements.centre[:, 2]
    inside = {
        section: np.array([of == section for of, _ in elements.names]) for section in dict(elements.names)
    }
    velo, ut, scifi = (inside[name] for name in ("velo_modules", "ut_layers", "scifi_layers"))
    middle = 0.5 * (magnet.z_in + magnet.z_out)
    for axis in "xyz":
        yield f"everything along {axis}", axis, np.ones(len(z)), _FRAME
    for axis in "xy":
        yield f"everything turned, {axis} in proportion to z", axis, z, _FRAME
    yield (
        *("sagitta: SciFi along x, in proportion to the distance from the magnet", "x"),
        np.where(scifi, z - middle, 0),
        "J/ψ, D⁰ or Z⁰ in both charges' momenta; tracks without field",
    )
    yield (
        *("z scale of the VELO", "z", np.where(velo, z - z[velo].mean(), 0)),
        "vertices of interactions in the foil and in modules, whose places are surveyed",
    )
    yield (
        *("z of the SciFi", "z", scifi.astype(float)),
        "tracks at large slopes; tracks without field",
    )
    for name, of in (("UT", ut), ("SciFi", scifi)):
        yield (
            *(f"y of the {name}", "y", of.astype(float)),
            "only stereo layers see it; ends of strips and fibres, holes around the beam",
        )
    yield (
        *("twist: turned about the beam in proportion to z", "rz", z),
        "J/ψ or K⁰s masses by azimuth; cosmic particles and beam halo that cross both sides",
    )


def weak_modes(solution: Solution, survey: Mapping[str, float], magnet: Magnet) -> list[dict[str, Any]]:
    """Return each mode with the errors of its size by the survey and after the data.

    A size is that of the largest displacement, mm or rad. `told` says whether the data determine it; a mode
    whose freedom is not free is not told, and has no error.
    """
    found = []
    for name, freedom, profile, sample in _profiles(solution.elements, magnet):
        mode: dict[str, Any] = {"name": name, "sample": sample, "survey": None, "error": None, "told": False}
        if freedom in solution.freedoms and freedom in survey:
            shape = profile / np.abs(profile).max()
            row = np.zeros(solution.value.shape)
            row[:, solution.freedoms.index(freedom)] = shape / (shape @ shape)
            flat = row.ravel()
            mode["survey"] = survey[freedom] / float(np.sqrt(shape @ shape))
            mode["error"] = float(np.sqrt(flat @ solution.covariance @ flat))
            mode["told"] = bool(mode["error"] < TOLD * mode["survey"])
        found.append(mode)
    return found
