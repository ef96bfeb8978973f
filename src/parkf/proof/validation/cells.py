"""The figures of a fit in cells of direction, charge and momentum, to show what averages hide."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import momentum_residual, pulls
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core

ETA_EDGES = (2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
# Eighths of the turn, the first around φ = 0: the horizontal and the vertical plane are bins' centres.
PHI_EDGES = tuple(float(phi) for phi in np.pi / 8 * np.arange(-1, 16, 2))
MOMENTUM_EDGES = (3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
# The bend lies in the horizontal plane, so that φ, −φ, π − φ and π + φ are equivalent.
PLANES = {"horizontal": (0, 4), "diagonal": (1, 3, 5, 7), "vertical": (2, 6)}
_ENOUGH = 50  # tracks below which a cell says nothing

# A small type, because these arrays are as long as the sample.
I16 = npt.NDArray[np.int16]


@dataclass(frozen=True)
class _Places:
    """Numbers of each track's bins in η, φ, charge and p, (n,) each; −1 outside all of them."""

    eta: I16
    phi: I16
    charge: I16
    p: I16


def cells(rows: Rows) -> list[dict[str, Any]]:
    """Measure a fit by true pseudorapidity, azimuth, charge and momentum.

    Parameters
    ----------
    rows : Rows
        Genuine tracks with a good fit, columns of :class:`parkf.fit.sample.Sample`.

    Returns
    -------
    list of dict
        ``{eta_min, eta_max, phi_min, phi_max, charge, p_min, p_max, n, bias, pull_width, tx_mean, ty_mean}``
        with ``<name>_error`` of the last four: 6 × 8 × 2 × 5 cells (rad; GeV) as far as they hold 50 tracks.
        ``bias`` is the mean of the core of δp/p, ``pull_width`` the width of that of the q/p pull, the means
        are those of the cores of the pulls of tx and ty.
    """
    places = _places(rows)
    etas, phis, momenta = len(ETA_EDGES) - 1, len(PHI_EDGES) - 1, len(MOMENTUM_EDGES) - 1
    number = ((places.eta * phis + places.phi) * 2 + places.charge) * momenta + places.p
    number[np.minimum.reduce([places.eta, places.phi, places.p]) < 0] = -1
    names = [
        {
            "eta_min": ETA_EDGES[eta],
            "eta_max": ETA_EDGES[eta + 1],
            "phi_min": PHI_EDGES[phi],
            "phi_max": PHI_EDGES[phi + 1],
            "charge": (-1, 1)[charge],
            "p_min": MOMENTUM_EDGES[p],
            "p_max": MOMENTUM_EDGES[p + 1],
        }
        for eta, phi, charge, p in product(range(etas), range(phis), range(2), range(momenta))
    ]
    return list(_measured(rows, number, names))


def directions(rows: Rows) -> list[dict[str, Any]]:
    """Measure a fit with equivalent tracks combined: both charges, and all φ of one plane.

    A field that is symmetric left to right and up to down leaves no more than η, the angle to the plane of
    the bend, and momentum; the cells hold four to eight times as many tracks as those of :func:`cells`.

    Parameters
    ----------
    rows : Rows
        As for :func:`cells`.

    Returns
    -------
    list of dict
        ``{eta_min, eta_max, plane, p_min, p_max, n, …}`` with the figures of :func:`cells`; ``plane`` is
        ``horizontal``, ``diagonal`` or ``vertical``.
    """
    places = _places(rows)
    plane = np.full(len(PHI_EDGES) - 1, -1, np.int16)
    for place, phis in enumerate(PLANES.values()):
        plane[list(phis)] = place
    momenta = len(MOMENTUM_EDGES) - 1
    number = (places.eta * len(PLANES) + plane[places.phi]) * momenta + places.p
    number[np.minimum(places.eta, places.p) < 0] = -1
    names = [
        {
            "eta_min": ETA_EDGES[eta],
            "eta_max": ETA_EDGES[eta + 1],
            "plane": plane,
            "p_min": MOMENTUM_EDGES[p],
            "p_max": MOMENTUM_EDGES[p + 1],
        }
        for eta, plane, p in product(range(len(ETA_EDGES) - 1), PLANES, range(momenta))
    ]
    return list(_measured(rows, number, names))


def _places(rows: Rows) -> _Places:
    tx, ty = np.asarray(rows["true_tx"], np.float64), np.asarray(rows["true_ty"], np.float64)
    turn = np.mod(np.arctan2(ty, tx) - PHI_EDGES[0], 2 * np.pi)
    with np.errstate(divide="ignore"):
        eta = np.arcsinh(1 / np.hypot(tx, ty))
    return _Places(
        eta=_bin(eta, ETA_EDGES),
        # Rounding may give the whole turn.
        phi=np.minimum((turn / (np.pi / 4)).astype(np.int16), len(PHI_EDGES) - 2),
        charge=(np.asarray(rows["true_qop"]) > 0).astype(np.int16),
        p=_bin(1e-3 * np.asarray(rows["p_true"], np.float64), MOMENTUM_EDGES),
    )


def _bin(values: npt.NDArray[np.float64], edges: Sequence[float]) -> I16:
    number = np.searchsorted(edges, values, side="right") - 1
    return np.where(number < len(edges) - 1, number, -1).astype(np.int16)


def _measured(rows: Rows, number: I16, names: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Measure the tracks of each cell, whose number each track has."""
    order = np.argsort(number, kind="stable").astype(np.int32)
    ends = np.searchsorted(number[order], np.arange(len(names) + 1))
    residual = momentum_residual(rows)
    pull = {name: pulls(rows, name, finite_only=False) for name in ("qop", "tx", "ty")}
    for name, begin, end in zip(names, ends[:-1], ends[1:], strict=True):
        inside = order[begin:end]
        inside = inside[np.logical_and.reduce([np.isfinite(values[inside]) for values in pull.values()])]
        if len(inside) < _ENOUGH:
            continue
        momentum, qop, tx, ty = (
            fit_core(values[inside]) for values in (residual, pull["qop"], pull["tx"], pull["ty"])
        )
        yield {
            **name,
            "n": len(inside),
            "bias": momentum.mean,
            "bias_error": momentum.mean_error,
            "pull_width": qop.width,
            "pull_width_error": qop.width_error,
            "tx_mean": tx.mean,
            "tx_mean_error": tx.mean_error,
            "ty_mean": ty.mean,
            "ty_mean_error": ty.mean_error,
        }
