"""Mass peaks of pairs of tracks without truth, and the scale of momenta that they show."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.io.errors import ParkfError
from parkf.proof.monitoring.quantities import Floats, usable
from parkf.proof.validation.masses import CLOSEST, MASSES, RANGE, fit_peak
from parkf.simulation.generate.decays import DECAYS

DAUGHTERS = {"jpsi": (13, 13), "d0": (321, 211)}
_FEWEST = 100
_SLOPE = 1e-3  # change of the scale for the derivative of the mean


def peak_of(decay: str, event: Floats, tracks: Candidates, fitted: Fitted) -> dict[str, float]:
    """Fit the peak of the pairs of a sample, in which `event` (n,) is that of each candidate.

    All pairs of usable tracks of opposite charge count that come as close as the trigger's line requires and
    have its momenta. A D⁰ counts with the assignment of K and π whose mass is closer. The result has those of
    :func:`parkf.proof.validation.masses.fit_peak` and ``by_scale``, the derivative of the mean with respect
    to the scale of momenta, MeV. Fewer than 100 pairs raise a ParkfError.
    """
    mass = DECAYS[decay].mass
    pairs = find_pairs(decay, event, tracks, fitted)

    def masses(scale: float) -> Floats:
        values = [masses_of(fitted, pairs, of, scale) for of in {DAUGHTERS[decay], DAUGHTERS[decay][::-1]}]
        both = np.array(values)
        best: Floats = both[np.argmin(np.abs(both - mass), axis=0), np.arange(both.shape[1])]
        return best

    plain = masses(0.0)
    inside = near_mass(plain, decay)
    moved = [float(np.mean(masses(scale)[inside])) for scale in (_SLOPE, -_SLOPE)]
    return {**fit_peak(plain[inside], mass), "by_scale": (moved[0] - moved[1]) / (2 * _SLOPE)}


def near_mass(masses: Floats, decay: str) -> NDArray[np.bool_]:
    """Whether masses (n,), MeV, are near that of a decay; fewer than 100 near it raise a ParkfError."""
    inside: NDArray[np.bool_] = np.abs(masses / DECAYS[decay].mass - 1) < RANGE
    if inside.sum() < _FEWEST:
        raise ParkfError(
            f"pairs: {int(inside.sum())} pairs within {RANGE:.0%} of the mass of {decay}, expected at least"
            f" {_FEWEST}; give more"
        )
    return inside


def find_pairs(decay: str, event: Floats, tracks: Candidates, fitted: Fitted) -> tuple[Any, Any]:
    """Rows of the positive and of the negative tracks of all pairs."""
    line = DECAYS[decay]
    p = 1 / np.abs(fitted.qop)
    pt = p * np.hypot(fitted.tx, fitted.ty) / np.sqrt(1 + fitted.tx**2 + fitted.ty**2)
    use = usable(fitted) & (p > line.p_min) & (pt > line.pt_min)
    rows = np.flatnonzero(use)
    # A particle found twice counts once.
    _, first = np.unique(
        np.stack([event[rows], tracks.velo[0][rows, 0], fitted.qop[rows] > 0]), axis=1, return_index=True
    )
    rows = rows[np.sort(first)]
    plus, minus = rows[fitted.qop[rows] > 0], rows[fitted.qop[rows] < 0]
    order = np.argsort(event[minus], kind="stable")
    begin, end = (np.searchsorted(event[minus][order], event[plus], side) for side in ("left", "right"))
    count = end - begin
    a = np.repeat(plus, count)
    b = minus[order][np.repeat(begin - np.cumsum(count) + count, count) + np.arange(count.sum())]
    near = _distance(fitted, a, b) < CLOSEST
    total = momentum_of(fitted, a, 0.0) + momentum_of(fitted, b, 0.0)
    near &= np.hypot(total[:, 0], total[:, 1]) >= line.pair_pt_min
    return a[near], b[near]


def _direction(fitted: Fitted, rows: Any) -> Floats:
    tx, ty = fitted.tx[rows].astype(np.float64), fitted.ty[rows].astype(np.float64)
    return np.column_stack([tx, ty, np.ones_like(tx)]) / np.sqrt(1 + tx**2 + ty**2)[:, None]


def momentum_of(fitted: Fitted, rows: Any, scale: float) -> Floats:
    """Return momenta (n, 3) of some fits, larger by a fraction `scale`, MeV."""
    momentum: Floats = (
        _direction(fitted, rows) * ((1 + scale) / np.abs(fitted.qop[rows].astype(np.float64)))[:, None]
    )
    return momentum


def _distance(fitted: Fitted, a: Any, b: Any) -> Floats:
    """Closest approach of the two straight lines, mm."""
    across = np.cross(_direction(fitted, a), _direction(fitted, b))
    between = np.column_stack([(getattr(fitted, n)[a] - getattr(fitted, n)[b]) for n in "xyz"])
    distance: Floats = np.abs((between * across).sum(1)) / np.maximum(np.linalg.norm(across, axis=1), 1e-12)
    return distance


def masses_of(fitted: Fitted, pairs: tuple[Any, Any], of: tuple[int, int], scale: float) -> Floats:
    """Return the masses (n,) of pairs, MeV, as particles of two PDG ids with momenta larger by `scale`."""
    momenta = [momentum_of(fitted, rows, scale) for rows in pairs]
    energy = sum(np.sqrt((p**2).sum(1) + MASSES[n] ** 2) for p, n in zip(momenta, of, strict=True))
    mass: Floats = np.sqrt(energy**2 - (np.add(*momenta) ** 2).sum(1))
    return mass
