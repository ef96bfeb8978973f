"""``parkf align``: displacements of modules and layers from residuals, with surveys and constraints.

The χ² of all tracks is linearised in the displacements α: the normal equations are (Σ AᵀWA)·α = Σ Aᵀw, with
W of :mod:`parkf.fit.residuals`, which leaves every track free to move with the elements (P. Brückman, A.
Hicheur and S. Haywood, 2005; W. Hulsbergen, 2009). What data and surveys together do not determine to 0.5 mm,
or to 0.5 mm at 1 m from an element's centre, is not moved.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from parkf.data.elements import FREEDOMS, SECTIONS, Elements, derivatives
from parkf.data.equations import Equations, Floats, Solution
from parkf.data.moving import Moving
from parkf.data.quantities import usable
from parkf.data.tracks import read_tracks
from parkf.detector.alignment import Alignment, Displacement
from parkf.detector.geometry import Geometry
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.fit.residuals import PACKED, Residuals, fit_residuals
from parkf.io.errors import ParkfError
from parkf.params.parameter_set import ParameterSet

AT_A_TIME = 2048
"""Candidates whose covariances are in memory: 100 MB."""
FEWEST = 500
"""Tracks of an alignment: with fewer, tails of single tracks move elements."""
WEAK = 0.5
"""mm: error of a combination of displacements beyond which it is a weak mode."""
_ARM = 1000.0  # mm, by which a rotation is compared with a shift


class Displacements(Equations):
    """Normal equations of the displacements of elements, (m·f,) for f freedoms, summed over tracks."""

    def __init__(self, elements: Elements, freedoms: Sequence[str]) -> None:
        if unknown := sorted(set(freedoms) - set(FREEDOMS)):
            raise ParkfError(f"freedoms: got {unknown[0]}, expected some of {' '.join(FREEDOMS)}")
        super().__init__([f"{section} {key} {one}" for section, key in elements.names for one in freedoms])
        self.elements, self.freedoms = elements, list(freedoms)
        self._chosen = [FREEDOMS.index(one) for one in freedoms]
        # Sum of ∂(q/p)/∂α of MagUp tracks and of minus that of MagDown, 1/MeV/mm.
        self.bend = np.zeros_like(self.vector)

    def add_tracks(
        self, tracks: Candidates, fitted: Fitted, residuals: Residuals, use: NDArray[np.bool_]
    ) -> None:
        """Add the candidates of `use` (n,), whose residuals have covariances.

        The noise is the sum over tracks of the products of their own parts in the vector, which have all that
        the hits of a track share, as it is and not as the set says.
        """
        element, slopes = derivatives(tracks, fitted, residuals, self.elements)
        of, coordinate = np.nonzero(residuals.has.T & use[:, None])
        count, f = np.bincount(of, minlength=tracks.count), len(self._chosen)
        # A row of slopes for each coordinate, and of weights with all coordinates of its track.
        columns = element[coordinate, of][:, None] * f + np.arange(f)
        rows = slopes[coordinate[:, None], self._chosen, of[:, None]]
        a = csr_array(
            (rows.ravel(), columns.ravel(), f * np.arange(len(of) + 1)), (len(of), len(self.vector))
        )
        ends, sizes = np.cumsum(count), count[of]
        begins = np.concatenate([[0], np.cumsum(sizes)])
        row = np.repeat(np.arange(len(of)), sizes)
        other = np.arange(begins[-1]) - begins[row] + (ends - count)[of[row]]
        bent, variance = residuals.by_k[coordinate, of], residuals.qop_variance
        packed = residuals.packed()[of[row], PACKED[coordinate[row], coordinate[other]]]
        weights = csr_array((packed - variance[of[row]] * bent[row] * bent[other], other, begins))
        self.matrix += (a.T.tocsr() @ (weights @ a)).toarray()
        each = csr_array((residuals.w[coordinate, of], np.arange(len(of)), np.concatenate([[0], ends])))
        scores = each @ a
        self.vector += np.asarray(scores.sum(axis=0))
        self.noise += (scores.T.tocsr() @ scores).toarray()
        self.bend += a.T @ (bent * (variance * tracks.polarity)[of])
        self.tracks += int(use.sum())

    def beside(self, reference: "Displacements") -> "Displacements":
        """Return the equations minus what a reference shows, a sample whose elements are in place.

        What the fit's own small biases move is the same in both. The errors include the reference's.
        """
        ratio = self.tracks / max(reference.tracks, 1)
        both = Displacements(self.elements, self.freedoms)
        both.tracks, share = self.tracks, 1 / (1 + ratio)
        both.matrix = share * self.matrix
        both.vector = share * (self.vector - ratio * reference.vector)
        both.noise = share**2 * (self.noise + ratio**2 * reference.noise)
        both.bend = self.bend
        return both

    def measure_bend(self, value: float, error: float) -> None:
        """Add a measurement of the change of q/p that displacements cause in MagUp tracks, 1/MeV."""
        self.add((self.bend / self.tracks)[None], np.array([[error**-2]]), np.array([value]))

    def displacements(
        self, survey: Mapping[str, float] | None = None, at: Floats | float = 0.0, *, velo_rests: bool = True
    ) -> Solution:
        """Solve for the displacements, mm and rad.

        `survey` has the error of each freedom, with which a survey measured the elements at `at` (m·f,), by
        default where they are assumed. A VELO that rests does not move as a whole, nor shear or stretch along
        z. A ParkfError reports too few tracks.
        """
        if self.tracks < FEWEST:
            raise ParkfError(
                f"alignment: {self.tracks} tracks with a good fit, expected at least {FEWEST};"
                " give more candidates"
            )
        m = len(self.elements.names)
        known = np.tile([(survey or {}).get(one, np.inf) for one in self.freedoms], m)
        arm = np.tile([_ARM if one.startswith("r") else 1.0 for one in self.freedoms], m)
        fixed = self._at_rest() if velo_rests else None
        return self.solve(known=known, at=at, fixed=fixed, scale=arm, weak=WEAK)

    def _at_rest(self) -> Floats:
        velo = np.array([section == "velo_modules" for section, _ in self.elements.names])
        z = self.elements.centre[:, 2]
        along = np.where(velo, z - z[velo].mean(), 0.0)
        profiles = [(velo, one) for one in self.freedoms]
        profiles += [(along / np.abs(along).max(), one) for one in self.freedoms if one in "xyz"]
        return np.array([np.outer(of, np.equal(self.freedoms, one)).ravel() for of, one in profiles])


def places(alignment: Alignment, names: Iterable[str]) -> Floats:
    """Displacements in an alignment, mm and rad, by names such as ``ut_layers 2 x``, (n,)."""
    found = []
    for section, key, freedom in map(str.split, names):
        found.append(getattr(getattr(alignment, section).get(int(key), Displacement()), freedom))
    return np.array(found)


def displaced(before: Alignment, solution: Solution, tag: str) -> Alignment:
    """Return the alignment `before` with displacements on top."""
    sections = {section: dict(getattr(before, section)) for section in SECTIONS}
    values = places(before, solution.names) + solution.value
    for name, value, change in zip(solution.names, values.tolist(), solution.value, strict=True):
        section, key, freedom = name.split()
        if change:
            others = sections[section].get(int(key), Displacement()).model_dump()
            sections[section][int(key)] = Displacement(**others | {freedom: value})
    return before.model_copy(update={**sections, "tag": tag})


def align(
    parameters: ParameterSet,
    candidates: Sequence[Path],
    geometry: Geometry,
    *,
    freedoms: Sequence[str],
    survey: Mapping[str, float] | None = None,
) -> Solution:
    """Align modules and layers by candidates.

    `geometry` has its elements where the candidates' reconstruction assumed them. The tracks of usable fits
    count. `survey` has the errors of freedoms that are known without data.
    """
    return equations_of(parameters, read_tracks(candidates)[1], geometry, freedoms).displacements(survey)


def equations_of(
    parameters: ParameterSet,
    tracks: Candidates,
    geometry: Geometry,
    freedoms: Sequence[str],
    moving: Moving | None = None,
) -> Displacements:
    """Sum the normal equations of candidates in float64, whose hits are where `geometry` has them.

    With `moving`, this is where it moves them to.
    """
    equations = Displacements(Elements.of(geometry), freedoms)
    for piece in tracks.pieces(AT_A_TIME):
        some = (piece if moving is None else moving(piece)).in_precision("float64")
        fitted, residuals = fit_residuals(parameters, some, covariances=True)
        equations.add_tracks(some, fitted, residuals, usable(fitted))
    return equations
