"""Vertices of two tracks that begin behind the VELO, where their magnetic field is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parkf.fit.inside import carry_inside
from parkf.params.slices import MagnetSlices

F64 = NDArray[np.float64]

ROUNDS = 6  # each carries the tracks to the vertex of the round before
UNKNOWN_Z = 1e4  # mm; error of z before a vertex is fitted
CLOSE = 0.1  # mm; a vertex that moved less has been found
# Places in the lower triangle of a covariance: of x, y; and of tx, ty, q/p with them.
_XX, _XY, _YY = 0, 1, 2
_WITH_X, _WITH_Y = (3, 6, 10), (4, 7, 11)


@dataclass(frozen=True)
class Ends:
    """Fitted tracks, one of each pair."""

    states: F64  # (n, 5): x, y (mm), tx, ty, q/p (1/MeV)
    covariances: F64  # (n, 15): lower triangles, row by row
    z: F64  # (n,), mm


@dataclass(frozen=True)
class Vertices:
    """Where pairs of tracks meet."""

    place: F64  # (n, 3): x, y, z in mm
    z_error: F64  # (n,), mm
    chi2: F64  # (n,), with one degree of freedom
    directions: tuple[F64, F64]  # (n, 3) each: tx, ty, q/p of the tracks there, which know the vertex
    ok: NDArray[np.bool_]  # (n,): whether a vertex was found between the slices' ends


def fit_vertices(slices: MagnetSlices, first: Ends, second: Ends, polarity: ArrayLike) -> Vertices:
    """Fit the vertex of each pair; tracks are carried there through the field and the material.

    The polarity is +1 for MagUp, a number or (n,).
    """
    low, high = slices.described.z_first, np.minimum(first.z, second.z)
    z = np.clip(_crossing(first, second), low, high)
    ok = np.ones(len(z), bool)
    for _ in range(ROUNDS):
        here = [_carried(slices, one, z, polarity) for one in (first, second)]
        place, z_variance, chi2 = _solved(here)
        moved = np.clip(z + place[:, 2], low, high)
        ok = (np.abs(moved - z) < CLOSE) & here[0][2] & here[1][2]
        if ok.all():
            break
        z = moved
    states = [_at_vertex(one, place) for one in here]
    found = np.column_stack([place[:, :2], z + place[:, 2]])
    z_error = np.sqrt(z_variance)
    good = ok & (found[:, 2] > low) & (found[:, 2] < high) & (z_error < UNKNOWN_Z / 2)
    return Vertices(found, z_error, chi2, (states[0], states[1]), good)


def _crossing(a: Ends, b: Ends) -> F64:
    """Return z where the straight lines of two tracks come closest."""
    apart = a.states[:, :2] + a.states[:, 2:4] * (b.z - a.z)[:, None] - b.states[:, :2]
    opening = a.states[:, 2:4] - b.states[:, 2:4]
    return np.asarray(b.z - (apart * opening).sum(1) / np.maximum((opening**2).sum(1), 1e-12))


def _carried(
    slices: MagnetSlices, ends: Ends, z: F64, polarity: ArrayLike
) -> tuple[F64, F64, NDArray[np.bool_]]:
    at = carry_inside(slices, ends.states, ends.z, z, polarity, covariances=ends.covariances)
    return at.states, at.covariances, at.ok


def _weights(c: F64) -> F64:
    """Return the inverse (n, 2, 2) of the covariances of x and y."""
    matrix = c[:, [_XX, _XY, _XY, _YY]].reshape(-1, 2, 2)
    return np.asarray(np.linalg.inv(matrix), np.float64)


def _solved(tracks: list[tuple[F64, F64, Any]]) -> tuple[F64, F64, F64]:
    """Return x, y and the change of z of vertices (n, 3), the variance of z, and χ², from tracks at one z."""
    count = len(tracks[0][0])
    normal, right, square = np.zeros((count, 3, 3)), np.zeros((count, 3)), np.zeros(count)
    for states, covariances, _ in tracks:
        weight = _weights(covariances)
        design = np.zeros((len(states), 2, 3))
        design[:, 0, 0] = design[:, 1, 1] = 1.0
        design[:, :, 2] = -states[:, 2:4]
        weighted = np.einsum("nij,njk->nik", weight, design)
        normal = normal + np.einsum("nji,njk->nik", design, weighted)
        right = right + np.einsum("nji,nj->ni", weighted, states[:, :2])
        square = square + np.einsum("ni,nij,nj->n", states[:, :2], weight, states[:, :2])
    # Parallel tracks have no vertex: their matrix is singular but for this hardly known z.
    normal[:, 2, 2] += 1 / UNKNOWN_Z**2
    inverse = np.linalg.inv(normal)
    found = np.einsum("nij,nj->ni", inverse, right)
    variance = np.asarray(inverse[:, 2, 2], np.float64)
    return np.asarray(found, np.float64), variance, square - (found * right).sum(1)


def _at_vertex(track: tuple[F64, F64, Any], place: F64) -> F64:
    """Return tx, ty and q/p (n, 3) of tracks whose position is replaced by the vertex's."""
    states, covariances, _ = track
    # The vertex lies place[:, 2] behind the plane of the states.
    away = place[:, :2] - (states[:, :2] + states[:, 2:4] * place[:, 2:])
    pull = np.einsum("nij,nj->ni", _weights(covariances), away)
    gain = covariances[:, _WITH_X] * pull[:, :1] + covariances[:, _WITH_Y] * pull[:, 1:]
    return states[:, 2:] + gain
