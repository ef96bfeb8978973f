"""Weak modes: common displacements that residuals hardly see, and the samples that would show them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from parkf.data.elements import FREEDOMS, Elements
from parkf.data.equations import Floats, Solution
from parkf.detector.description import Magnet

TOLD = 0.5
"""Data tell a mode if they bring its error below this share of the survey's."""
_USUAL = {"x": 0.1, "y": 0.1, "z": 0.1, "r": 1e-3}  # mm, rad
_MIDDLE = 5200.0  # mm
_FRAME = "no track, since all coordinates move; the beam line and surveys"
_STEREO = "only stereo layers see it; ends of strips and fibres, holes around the beam"


def _profiles(elements: Elements, middle: float) -> list[tuple[str, str, Floats, str]]:
    """Name, freedom, displacement of each element (m,) up to a factor, and the sample of each mode.

    `middle` is that of the magnet, z in mm.
    """
    z = elements.centre[:, 2]
    velo, ut, scifi = (
        np.array([1.0 * name.lower().startswith(part) for name, _ in elements.names])
        for part in ("velo", "ut", "scifi")
    )
    from_middle = scifi * (z - middle)
    sagitta = "sagitta: SciFi along x, in proportion to the distance from the magnet"
    momenta = "J/ψ, D⁰ or Z⁰ in both charges' momenta; tracks without field"
    vertices = "vertices of interactions in the foil and in modules, whose places are surveyed"
    turns = "J/ψ or K⁰s masses by azimuth; cosmic particles and beam halo that cross both sides"
    return [
        *((f"everything along {axis}", axis, np.ones(len(z)), _FRAME) for axis in "xyz"),
        *((f"everything turned, {axis} in proportion to z", axis, z, _FRAME) for axis in "xy"),
        (sagitta, "x", from_middle, momenta),
        ("z scale of the VELO", "z", velo * (z - z[velo > 0].mean()), vertices),
        ("z of the SciFi", "z", scifi, "tracks at large slopes; tracks without field"),
        ("y of the UT", "y", ut, _STEREO),
        ("y of the SciFi", "y", scifi, _STEREO),
        ("twist: turned about the beam in proportion to z", "rz", z, turns),
    ]


def weak_modes(
    solution: Solution, elements: Elements, survey: Mapping[str, float], magnet: Magnet
) -> list[dict[str, Any]]:
    """Return each mode with the errors of its size by the survey and after the data.

    A size is that of the largest displacement, mm or rad. `told` says whether the data determine it; a mode
    whose freedom is not free is not told, and has no error.
    """
    found = []
    freedoms = [name.split()[-1] for name in solution.names]
    for name, freedom, profile, sample in _profiles(elements, 0.5 * (magnet.z_in + magnet.z_out)):
        mode: dict[str, Any] = {"name": name, "sample": sample, "survey": None, "error": None, "told": False}
        if freedom in survey:
            shape = profile / np.abs(profile).max()
            row = np.zeros(len(freedoms))
            row[np.equal(freedoms, freedom)] = shape / (shape @ shape)
            mode["survey"] = survey[freedom] / float(np.sqrt(shape @ shape))
            mode["error"] = float(np.sqrt(row @ solution.covariance @ row))
            mode["told"] = bool(mode["error"] < TOLD * mode["survey"])
        found.append(mode)
    return found


def name_unseen(elements: Elements, matrix: Floats) -> list[str]:
    """Name each mode that tracks with this matrix of displacements (6·m, 6·m) do not determine.

    It is one whose error, if all else were known, is above :data:`TOLD` times that of a usual survey.
    """
    found = []
    for name, freedom, profile, sample in _profiles(elements, _MIDDLE):
        row = np.zeros((len(profile), len(FREEDOMS)))
        if not profile.any():
            continue
        row[:, FREEDOMS.index(freedom)] = profile / np.abs(profile).max()
        if row.ravel() @ matrix @ row.ravel() < (TOLD * _USUAL[freedom[0]]) ** -2:
            found.append(f"{name} (told by: {sample})")
    return found
