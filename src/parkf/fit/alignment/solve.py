"""Displacements of modules and layers from residuals, with surveys and constraints.

The χ² of all tracks is linearised in the displacements α: the normal equations are (Σ AᵀWA)·α = Σ Aᵀw, with
W of :mod:`parkf.fit.residuals`, which leaves every track free to move with the elements (P. Brückman, A.
Hicheur and S. Haywood, 2005; W. Hulsbergen, 2009). A survey adds measurements of α itself, and constraints
are linear combinations of α that stay 0. What data and surveys together do not determine to 0.5 mm, or to
0.5 mm at 1 m from an element's centre, is not moved; these weak modes are named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from parkf.detector.alignment import Alignment, Displacement
from parkf.fit.alignment.derivatives import FREEDOMS, Elements, derivatives
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.fit.residuals import PACKED, Residuals
from parkf.io.errors import ParkfError

Floats = NDArray[np.float64]

WEAK = 0.5
"""mm: error of a combination of parameters beyond which it is a weak mode."""
_ARM = 1000.0  # mm, by which a rotation is compared with a shift
_NAMED = 4  # largest parts of a weak mode that are named


@dataclass(frozen=True)
class Solution:
    """Displacements of the elements relative to where the candidates' alignment has them."""

    elements: Elements
    freedoms: Sequence[str]
    value: Floats  # (m, f), mm and rad
    covariance: Floats  # (m·f, m·f); 0 for what is not moved
    tracks: int
    weak: list[dict[str, float]]  # combinations that are not moved, by their largest parts

    @property
    def error(self) -> Floats:
        """Errors of the values, (m, f); 0 for what is not moved."""
        error: Floats = np.sqrt(np.diag(self.covariance)).reshape(self.value.shape)
        return error

    def alignment(self, before: Alignment, tag: str) -> Alignment:
        """Return the alignment `before` with these displacements on top."""
        sections: dict[str, dict[int, Displacement]] = {}
        for (section, key), values in zip(self.elements.names, self.value, strict=True):
            of = sections.setdefault(section, dict(getattr(before, section)))
            numbers = of.get(key, Displacement()).model_dump()
            for freedom, value in zip(self.freedoms, values.tolist(), strict=True):
                numbers[freedom] += value
            if any(numbers.values()):
                of[key] = Displacement(**numbers)
        return before.model_copy(update={**sections, "tag": tag})


class Equations:
    """Normal equations of the displacements, summed over tracks."""

    def __init__(self, elements: Elements, freedoms: Sequence[str]) -> None:
        if unknown := sorted(set(freedoms) - set(FREEDOMS)):
            raise ParkfError(f"freedoms: got {unknown[0]}, expected some of {' '.join(FREEDOMS)}")
        self.elements, self.freedoms, self.tracks = elements, list(freedoms), 0
        self._chosen = [FREEDOMS.index(one) for one in freedoms]
        size = len(elements.names) * len(freedoms)
        self.matrix, self.vector = np.zeros((size, size)), np.zeros(size)
        self.bend = np.zeros(size)  # sum of ∂(q/p)/∂α of MagUp tracks and of minus that of MagDown, 1/MeV/mm

    def add(self, tracks: Candidates, fitted: Fitted, residuals: Residuals, use: NDArray[np.bool_]) -> None:
        """Add the candidates of `use` (n,), whose residuals have covariances."""
        element, slopes = derivatives(tracks, fitted, residuals, self.elements)
        slopes, f = slopes[:, self._chosen].transpose(2, 0, 1), len(self._chosen)
        packed, by_k, w = residuals.packed(), residuals.by_k.T, residuals.w.T
        has, variance, freedoms = residuals.has.T, residuals.qop_variance, np.arange(f)
        flat, element = self.matrix.ravel(), element.T
        for number in np.flatnonzero(use):
            there = np.flatnonzero(has[number])
            # x and y of a VELO hit belong to one element.
            own, place = np.unique(element[number, there], return_inverse=True)
            parameters = (own[:, None] * f + freedoms).ravel()
            by_element = np.zeros((len(there), len(own), f))
            by_element[np.arange(len(there)), place] = slopes[number, there]
            a = by_element.reshape(len(there), -1)
            bent = by_k[number, there]
            weights = packed[number, PACKED[there[:, None], there]] - variance[number] * bent[:, None] * bent
            flat[parameters[:, None] * len(self.vector) + parameters] += a.T @ weights @ a
            self.vector[parameters] += a.T @ w[number, there]
            self.bend[parameters] += variance[number] * tracks.polarity[number] * (a.T @ bent)
        self.tracks += int(use.sum())

    def beside(self, reference: "Equations") -> "Equations":
        """Return the equations minus what a reference shows, a sample whose elements are in place.

        What the fit's own small biases move is the same in both. The errors include the reference's.
        """
        ratio = self.tracks / max(reference.tracks, 1)
        both = Equations(self.elements, self.freedoms)
        both.tracks, share = self.tracks, 1 / (1 + ratio)
        both.matrix = share * self.matrix
        both.vector = share * (self.vector - ratio * reference.vector)
        both.bend = self.bend
        return both

    def measure_bend(self, value: float, error: float) -> None:
        """Add a measurement of the change of q/p that displacements cause in MagUp tracks, 1/MeV."""
        row = self.bend / self.tracks
        self.matrix += np.outer(row, row) / error**2
        self.vector += row * value / error**2

    def solve(
        self,
        *,
        survey: Mapping[str, float] | None = None,
        surveyed: Floats | None = None,
        constraints: Floats | None = None,
    ) -> Solution:
        """Solve for the displacements.

        `survey` has the error of each freedom, with which a survey measured the elements at `surveyed`
        (m, f), by default where they are assumed. `constraints` (c, m·f) are combinations that stay 0; by
        default those of :func:`at_rest`. A ParkfError reports that there are no tracks.
        """
        if not self.tracks:
            raise ParkfError("alignment: 0 tracks with a good fit, expected some thousand; give candidates")
        names = len(self.elements.names)
        arm = np.tile([_ARM if one.startswith("r") else 1.0 for one in self.freedoms], names)
        matrix, vector = self.matrix / np.outer(arm, arm), self.vector / arm
        for freedom, error in (survey or {}).items():
            if freedom in self.freedoms:
                column = self.freedoms.index(freedom) + len(self.freedoms) * np.arange(names)
                weight = 1 / (error * arm[column]) ** 2
                matrix[column, column] += weight
                if surveyed is not None:
                    vector[column] += weight * arm[column] * surveyed[:, self.freedoms.index(freedom)]
        rows = at_rest(self.elements, self.freedoms) if constraints is None else constraints
        free = null_space(rows / arm) if len(rows) else np.eye(len(arm))
        values, vectors = np.linalg.eigh(free.T @ matrix @ free)
        modes = free @ vectors
        known = values > 1 / WEAK**2
        moved = modes[:, known]
        covariance = moved / values[known] @ moved.T
        return Solution(
            elements=self.elements,
            freedoms=self.freedoms,
            value=(covariance @ vector / arm).reshape(names, -1),
            covariance=covariance / np.outer(arm, arm),
            tracks=self.tracks,
            weak=[self._named(mode) for mode in modes[:, ~known].T],
        )

    def _named(self, mode: Floats) -> dict[str, float]:
        names = [f"{section} {key} {one}" for section, key in self.elements.names for one in self.freedoms]
        largest = np.argsort(-np.abs(mode))[:_NAMED]
        return {names[i]: float(mode[i]) for i in largest}


def at_rest(elements: Elements, freedoms: Sequence[str]) -> Floats:
    """Return constraints (c, m·f): the VELO as a whole neither moves, nor shears or stretches along z."""
    names, f = elements.names, len(freedoms)
    velo = np.array([section == "velo_modules" for section, _ in names])
    z = np.where(velo, elements.centre[:, 2] - elements.centre[velo, 2].mean(), 0.0)
    rows = []
    for column, freedom in enumerate(freedoms):
        for profile in (
            (velo.astype(float), z / np.abs(z).max()) if freedom in "xyz" else (velo.astype(float),)
        ):
            row = np.zeros((len(names), f))
            row[:, column] = profile
            rows.append(row.ravel())
    return np.array(rows)
