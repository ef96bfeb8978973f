"""Files for Millepede II: a record of each track.

Millepede takes measurements with independent errors. The residuals of a fit with scattering are correlated;
with V⁻¹ = LLᵀ for the coordinates behind the two hits that the fit starts from, the numbers L⁻¹w are
independent and have the error 1. Their derivatives are L⁻¹V⁻¹A for displacements, and L⁻¹V⁻¹∂h/∂(q/p) of the
predictions h for the only local parameter, q/p in units of its error. The pattern recognition's q/p is one
more measurement. Normal equations of these records are exactly those of the fit, AᵀWA. All derivatives have
Millepede's sign: a value is their sum, times what the parameters really are minus what was assumed.

A record is an int32, twice the number of words, then the words as float32, then their labels as int32. Each
measurement has its value (label 0), local derivatives with their numbers, its error (label 0), and global
derivatives with their labels (V. Blobel and C. Kleinwort; `Mille.cc` of Millepede II writes the same).
"""

from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from parkf.fit.alignment.derivatives import FREEDOMS, Elements, by_field, derivatives
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.fit.residuals import START, Residuals
from parkf.io.files import replacing
from parkf.params.parameter_set import ParameterSet

Floats = NDArray[np.float64]

FIELD_LABEL = 1_000_000
"""Label of the scale of the field."""
SEED_WIDTH = 0.3
"""Relative error of the pattern recognition's q/p in the fit."""


def label(element: int, freedom: str) -> int:
    """Return Millepede's label of an element's freedom, from 1 on."""
    return 1 + len(FREEDOMS) * element + FREEDOMS.index(freedom)


class Mille:
    """Writes records; the file appears when the block ends without an error."""

    def __init__(self, path: Path, elements: Elements) -> None:
        self._replacing = replacing(path)
        self._elements = elements

    def __enter__(self) -> Self:
        self._file: IO[bytes] = self._replacing.__enter__().open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._replacing.__exit__(kind, error, trace)

    def write(
        self,
        parameters: ParameterSet,
        tracks: Candidates,
        fitted: Fitted,
        residuals: Residuals,
        use: NDArray[np.bool_],
    ) -> int:
        """Write a record of each candidate of `use` (n,), with covariances; return their number."""
        element, slopes = derivatives(tracks, fitted, residuals, self._elements)
        precision, field = residuals.precision(), by_field(parameters, tracks, fitted, residuals)
        for number in np.flatnonzero(use):
            there = np.flatnonzero(residuals.has[:, number])
            behind = ~np.isin(there, START)
            own = precision[number][np.ix_(there, there)]
            lower = np.linalg.cholesky(own[np.ix_(behind, behind)])
            error = float(np.sqrt(residuals.qop_variance[number]))
            w, by_k = (a[there, number] for a in (residuals.w, residuals.by_k))
            columns = np.column_stack([w, by_k * error, own])[behind]
            value, local, whitened = np.split(np.linalg.solve(lower, columns), [1, 2], axis=1)
            of_field = whitened @ field[there, number]
            labels = 1 + len(FREEDOMS) * element[there, number][:, None] + np.arange(len(FREEDOMS))
            glob = whitened[:, :, None] * slopes[there, :, number]
            self._record(
                value[:, 0],
                local[:, 0],
                np.column_stack([of_field, glob.reshape(len(value), -1)]),
                np.concatenate([[FIELD_LABEL], labels.ravel()]),
                (tracks.qop[number] - fitted.qop[number]) / (SEED_WIDTH * abs(tracks.qop[number])),
                error / (SEED_WIDTH * abs(tracks.qop[number])),
            )
        return int(use.sum())

    def _record(
        self,
        value: Floats,
        local: Floats,
        slopes: Floats,
        labels: NDArray[np.int64],
        seed: float,
        seed_local: float,
    ) -> None:
        # x and y of a VELO hit have the same labels, whose derivatives add up.
        unique, place = np.unique(labels, return_inverse=True)
        summed = np.zeros((len(value), len(unique)))
        np.add.at(summed.T, place, slopes.T)
        words, numbers = [0.0], [0]
        for one, of_local, row in zip(value, local, summed, strict=True):
            kept = row != 0
            words += [one, of_local, 1.0, *row[kept]]
            numbers += [0, 1, 0, *unique[kept]]
        words += [seed, seed_local, 1.0]
        numbers += [0, 1, 0]
        np.array([2 * len(words)], "<i4").tofile(self._file)
        np.array(words, "<f4").tofile(self._file)
        np.array(numbers, "<i4").tofile(self._file)
