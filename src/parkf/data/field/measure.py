"""The fit of nuisances to the hits of tracks with known momentum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.data.equations import Equations, Solution
from parkf.data.field.nuisances import NUISANCES, Values
from parkf.data.field.path import Path, covariance, follow
from parkf.data.field.tracks import FEWEST, TrueTracks
from parkf.detector.field import FieldMap
from parkf.detector.frame import Floats
from parkf.detector.geometry import Geometry
from parkf.imports.hits.track_fits import fit_velo
from parkf.io.errors import ParkfError

Bools = NDArray[np.bool_]

_ROUNDS = 2  # linearisations; the second changes values by less than a tenth of their errors
_LARGEST_PULL = 4.0  # of a hit; larger ones are wrong hits or hard scatterings
_TAIL = 3.0  # errors of a track's momentum; tracks beyond are left out
_LARGEST_EXCESS = 0.1  # of the momentum; beyond it, equations about the true momentum do not hold
_STEPS = (0.1, 0.1, 1e-4, 1e-4, 1e-3)  # mm, mm, rad, rad, relative; for derivatives by a track's line
_MISSING = 1e12  # mm²; variance of hits that are not there
_LINE = slice(0, 4)


@dataclass(frozen=True)
class Measured:
    """Nuisances, and the excess of each track's momentum by the bend over the true one, (n,) each."""

    nuisances: Solution
    charge: Floats
    before: Floats  # with all nuisances 0
    after: Floats  # with the measured nuisances
    error: Floats
    left_out: int  # number of hits
    known: Mapping[str, tuple[float, ...]]  # values and errors that nuisances had before the fit


def measure(
    tracks: TrueTracks,
    geometry: Geometry,
    field: FieldMap,
    *,
    names: Sequence[str] = tuple(NUISANCES),
    known: Mapping[str, tuple[float, ...]] | None = None,
) -> Measured:
    """Fit nuisances to the hits by least squares; the lines of the tracks and all scatterings are free.

    `known` has values and errors of nuisances from elsewhere, by name; by default a nuisance is 0 with the
    error in :data:`NUISANCES`. Wrong hits are found with the momentum of the track free, so that they do not
    depend on the nuisances. A ParkfError reports an unknown name, momenta far from the true ones, or too few
    tracks that can be followed.
    """
    for name in (*names, *(known or {})):
        if name not in NUISANCES:
            raise ParkfError(f"nuisance '{name}', expected one of {', '.join(NUISANCES)}")
    known = {name: (0.0, NUISANCES[name].known) for name in names} | dict(known or {})
    # Lines (n, 5) through the VELO hits, at the last of them, with the true momentum.
    x, y, z = (tracks.velo[..., axis] for axis in range(3))
    fits = fit_velo(x, y, z - tracks.last_z[:, None], geometry.velo.resolution)
    (x0, tx), (y0, ty) = (fit.values.T for fit in fits)
    lines = np.column_stack([x0, y0, tx, ty, np.zeros(tracks.count)])
    values = dict.fromkeys(names, 0.0)
    there = _residuals(tracks, follow(tracks, lines, geometry, field, values))
    keep = np.isfinite(there)
    for number in range(_ROUNDS):
        system = _System.of(tracks, lines, geometry, field, values)
        keep &= system.finite
        keep, line, error = system.clean(keep)
        free = lines + line
        if number == 0:
            before = free[:, 4]
            _require_alike(before, error)
        # Tracks far from the others have scattered hard, or lost much energy.
        far = np.abs(free[:, 4] - np.median(free[:, 4])) > _TAIL * error
        good = ~far & np.isfinite(error)
        if good.sum() < FEWEST:
            raise ParkfError(f"{good.sum()} tracks can be followed through the field, expected {FEWEST}")
        change, shift = system.solve(keep, good, values, known)
        values = {name: values[name] + step for name, step in change.by_name.items()}
        lines[:, _LINE] += shift
    after = free[:, 4] + system.momentum_change(keep, change.value)
    found = Solution(names, np.array(list(values.values())), change.covariance, tracks=int(good.sum()))
    left_out = int(np.isfinite(there).sum() - keep.sum())
    return Measured(found, tracks.charge[good], before[good], after[good], error[good], left_out, known)


def _require_alike(excess: Floats, error: Floats) -> None:
    """Refuse tracks whose momenta are far from the true ones: the equations are linear about these."""
    middle = float(np.median(excess[np.isfinite(error)])) if np.isfinite(error).any() else np.nan
    if not abs(middle) < _LARGEST_EXCESS:
        raise ParkfError(
            f"the field gives half of the tracks more than {1 + middle:.3g} times their true momentum, "
            f"expected 1 within {_LARGEST_EXCESS:g}; check polarity and units with `parkf import hits`"
        )


def _residuals(tracks: TrueTracks, path: Path) -> Floats:
    """Hits minus path, (n, 68) mm; NaN where there is no hit."""
    velo = tracks.velo[..., :2] - path.velo
    return np.concatenate([velo[..., 0], velo[..., 1], tracks.x - path.strips], axis=1)


@dataclass(frozen=True)
class _System:
    """Linear equations of the hits' residuals."""

    residuals: Floats  # (n, m) mm
    by_line: Floats  # (n, m, 5) derivatives of the path
    by_nuisance: Floats  # (n, m, k)
    covariance: Floats  # (n, m, m) mm²

    @classmethod
    def of(
        cls, tracks: TrueTracks, lines: Floats, geometry: Geometry, field: FieldMap, values: Values
    ) -> "_System":
        path = follow(tracks, lines, geometry, field, values)
        here = _residuals(tracks, path)

        def change(lines: Floats, values: Values, step: float) -> Floats:
            return (here - _residuals(tracks, follow(tracks, lines, geometry, field, values))) / step

        moved = [lines + step * np.eye(5)[number] for number, step in enumerate(_STEPS)]
        by_line = [change(line, values, step) for line, step in zip(moved, _STEPS, strict=True)]
        by_nuisance = [
            change(lines, {**values, name: values[name] + NUISANCES[name].step}, NUISANCES[name].step)
            for name in values
        ]
        noise = covariance(tracks, path, geometry)
        return cls(here, np.stack(by_line, axis=-1), np.stack(by_nuisance, axis=-1), noise)

    @property
    def finite(self) -> Bools:
        """Hits (n, m) that their track reaches."""
        derivatives = np.isfinite(self.by_line).all(axis=-1) & np.isfinite(self.by_nuisance).all(axis=-1)
        return np.asarray(np.isfinite(self.residuals) & derivatives, bool)

    def _lines(self, keep: Bools, count: int) -> tuple[Floats, Floats, Floats]:
        """Weights, weights times derivatives by the line's first parameters, and their covariance."""
        matrix, number = self.covariance.copy(), np.arange(keep.shape[1])
        matrix[:, number, number] += np.where(keep, 0.0, _MISSING)
        weight = np.asarray(np.linalg.inv(matrix))
        design = np.where(keep[..., None], self.by_line[..., :count], 0.0)
        weighted = weight @ design
        inverse = np.linalg.pinv(design.transpose(0, 2, 1) @ weighted, hermitian=True)
        return weight, weighted, np.asarray(inverse, np.float64)

    def clean(self, keep: Bools) -> tuple[Bools, Floats, Floats]:
        """Leave out wrong hits one by one; return hits, change of the lines (n, 5), error of the momentum."""
        keep, rows = keep.copy(), np.arange(len(keep))
        for _ in range(8):
            weight, weighted, inverse = self._lines(keep, 5)
            residuals = np.where(keep, self.residuals, 0.0)
            line = np.einsum("nkl,nml,nm->nk", inverse, weighted, residuals)
            rest = np.einsum("nmk,nk->nm", weight, residuals) - np.einsum("nmk,nk->nm", weighted, line)
            free = np.einsum("nmm->nm", weight) - np.einsum("nmk,nkl,nml->nm", weighted, inverse, weighted)
            pull = np.where(keep, np.abs(rest) / np.sqrt(np.maximum(free, 1e-9)), 0.0)
            worst = pull.argmax(axis=1)
            wrong = pull[rows, worst] > _LARGEST_PULL
            if not wrong.any():
                break
            keep[rows[wrong], worst[wrong]] = False
        return keep, line, np.sqrt(inverse[:, 4, 4])

    def solve(
        self, keep: Bools, good: Bools, values: Values, known: Mapping[str, tuple[float, ...]]
    ) -> tuple[Solution, Floats]:
        """Change of the nuisances, and change of the lines (n, 4)."""
        weight, weighted, inverse = self._lines(keep, 4)
        left = weight - weighted @ inverse @ weighted.transpose(0, 2, 1)
        design = np.where(keep[..., None], self.by_nuisance, 0.0)
        residuals = np.where(keep, self.residuals, 0.0)
        equations = Equations(list(values))
        equations.add(design[good], left[good], residuals[good])
        at, errors = np.array([(known[name][0] - values[name], known[name][1]) for name in values]).T
        found = equations.solve(known=errors, at=at)
        shift = np.einsum("nkl,nml,nm->nk", inverse, weighted, residuals - design @ found.value)
        return found, shift

    def momentum_change(self, keep: Bools, change: Floats) -> Floats:
        """Change (n,) of each track's momentum excess, if the nuisances change by this."""
        _, weighted, inverse = self._lines(keep, 5)
        moved = np.where(keep, self.by_nuisance @ change, 0.0)
        return np.asarray(-np.einsum("nk,nmk,nm->n", inverse[:, 4], weighted, moved))
