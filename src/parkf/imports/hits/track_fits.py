"""Straight lines and parabolas through hits of many tracks at once."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from parkf.detector.frame import Floats, Ints
from parkf.io.events import Columns

# mm; the values of a fit in the UT are at `Z_UT`, the values of a fit in the SciFi at `Z_SCIFI`.
Z_UT, Z_SCIFI = 2485.0, 8600.0


@dataclass(frozen=True)
class Fits:
    """Weighted least squares of n tracks with k parameters and m hits."""

    values: Floats  # (n, k), NaN where there are fewer hits than parameters
    residuals: Floats  # (n, m) hit minus fit, mm; NaN without a hit
    # (n, m) residuals over σ, scaled for the degrees of freedom of the fit; their width is 1 if σ is right.
    pulls: Floats
    chi2: Floats  # (n,)


def fit(design: Floats, measured: Floats, sigma: Floats) -> Fits:
    """Fit measured (n, m) = design (n, m, k) · values, with errors sigma (n, m) in mm; NaN without a hit."""
    there = np.isfinite(measured) & np.isfinite(sigma)
    weight = np.where(there, 1.0 / np.where(there, sigma, 1.0) ** 2, 0.0)
    design, measured = np.where(there[..., None], design, 0.0), np.where(there, measured, 0.0)
    count = design.shape[2]
    normal = np.einsum("nmk,nm,nml->nkl", design, weight, design)
    right = np.einsum("nmk,nm,nm->nk", design, weight, measured)
    enough = there.sum(axis=1) >= count
    normal[~enough] = np.eye(count)
    values = np.einsum("nkl,nl->nk", np.linalg.pinv(normal, rcond=1e-12, hermitian=True), right)
    residuals = measured - np.einsum("nmk,nk->nm", design, values)
    chi2 = (residuals**2 * weight).sum(axis=1)
    freedom = np.maximum(there.sum(axis=1) - count, 0)
    left = np.sqrt(freedom / np.maximum(there.sum(axis=1), 1))[:, None]
    known = there & enough[:, None] & (freedom > 0)[:, None]
    pulls = np.where(known, residuals * np.sqrt(weight) / np.where(left > 0, left, 1.0), np.nan)
    values[~enough] = np.nan
    return Fits(values, np.where(known, residuals, np.nan), pulls, chi2)


def fit_velo(x: Floats, y: Floats, z: Floats, sigma: float) -> tuple[Fits, Fits]:
    """Fit lines x(z) and y(z) to points (n, m); values are position and slope at z = 0."""
    design = np.stack([np.ones_like(z), z], axis=-1)
    errors = np.where(np.isfinite(z), sigma, np.nan)
    return fit(design, x, errors), fit(design, y, errors)


def fit_ut(x: Floats, z: Floats, dxdy: Floats, sigma: Floats) -> Fits:
    """Fit a line to UT strips (n, 4) that points to the origin in y; values are x, tx, y at `Z_UT`."""
    dz = z - Z_UT
    return fit(np.stack([np.ones_like(x), dz, -dxdy * (1 + dz / Z_UT)], axis=-1), x, sigma)


def fit_scifi(dzdy: Floats, x: Floats, z: Floats, dxdy: Floats, sigma: Floats) -> Fits:
    """Fit a parabola x(z) and a line y(z) to fibres (n, 12).

    Values are x, tx, half of x'', y, ty at `Z_SCIFI`. Fibres lean, so a second pass uses the z at which the
    first one crosses them.
    """
    dz = z - Z_SCIFI
    for _ in range(2):
        design = np.stack([np.ones_like(x), dz, 1e-6 * dz**2, -dxdy, -dxdy * dz], axis=-1)
        found = fit(design, x, sigma)
        y = found.values[:, 3:4] + found.values[:, 4:5] * dz
        dz = np.where(np.isfinite(y), z + dzdy * y, z) - Z_SCIFI
    found.values[:, 2] *= 1e-6
    return found


def choose_ut(entry: Ints, layer: Ints, hits: Columns, count: int) -> Ints:
    """Choose one hit a layer: the combination whose line has the smallest χ².

    Hits (m,) have columns x, z, dxdy, sigma, and belong to a layer from 0 of one of `count` entries. Return
    the rows of the chosen hits, (count, 4); -1 where a layer has none.
    """
    deep = grid_of(entry, layer, count, 4)
    best, chi2 = deep[:, :, 0].copy(), np.full(count, np.inf)
    unclear = np.flatnonzero((deep[:, :, 1:] >= 0).any(axis=(1, 2)))
    many = deep[unclear]
    for choice in product(range(deep.shape[2]), repeat=4):
        rows = many[:, np.arange(4), choice]
        known = ((rows >= 0) | (many[:, :, 0] < 0)).all(axis=1)
        # Few entries have many hits in all layers.
        if not known.any():
            continue
        rows, entries = rows[known], unclear[known]
        of = {name: np.where(rows >= 0, values[rows].astype(float), np.nan) for name, values in hits.items()}
        found = fit_ut(**of).chi2
        better = found < chi2[entries]
        best[entries[better]], chi2[entries[better]] = rows[better], found[better]
    return best


def grid_of(entry: Ints, layer: Ints, count: int, layers: int) -> Ints:
    """Rows of hits by entry, layer and order, (count, layers, depth); -1 where there is none."""
    cell = entry * layers + layer
    order = np.argsort(cell, kind="stable")
    rank = np.arange(len(cell)) - np.searchsorted(cell[order], cell[order], side="left")
    grid = np.full((count * layers, int(rank.max(initial=0)) + 1), -1)
    grid[cell[order], rank] = order
    return grid.reshape(count, layers, -1)
