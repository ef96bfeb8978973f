"""Training of what electrons radiate: a mixture, from simulated electrons and their full fits.

The full fits need no parameter set, so that this training waits for nothing.
"""

from functools import partial

import numpy as np
from iminuit import Minuit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import parkf._electron as _electron
from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.fit.candidates import from_arrays
from parkf.fit.electron import TrackSeen, density
from parkf.fit.reference.full import fit_full
from parkf.io.errors import ParkfError
from parkf.io.kinds import KINDS
from parkf.params.electron import ElectronFit
from parkf.training.electron_sample import simulate_electrons

F64 = NDArray[np.float64]

TRACKS = 12_000
"""Electrons to start; half of them are fitted. Their numbers are then known to some per cent."""

RANGE = (2e3, 100e3)  # MeV, of the fitted momentum
ENOUGH = 500
# Median loss in ln p from which on the estimate is the median. It makes the central 68 % of the residuals
# small: from 0.25 to 0.4 these are the same to 2 %, above and below they are larger.
SURELY = 0.3
_START = (0.0, 0.0, 0.0, 0.0, np.log(0.2), 0.0, 0.0, np.log(0.6), 0.0, 0.0, 0.0, 1.0)
_LIMITS = {"s0": (-8.0, 2.0), "h0": (-5.0, 2.0), "shift": (-0.05, 0.05), "width": (0.3, 3.0)}
_LEAST = 1e-9  # a density far outside of all that is expected


def train_electron(
    geometry: Geometry, field: FieldMap, *, seed: int, tracks: int = TRACKS, threads: int | None = None
) -> ElectronFit:
    """Fit the mixture to electrons of ln p uniform, by maximum likelihood.

    `tracks` is the number of electrons to start, which depend on `seed` alone. The result does not depend on
    `threads`, by default all cores. Fewer than 500 good fits, or a fit that does not converge, raise a
    ParkfError.
    """
    with threadpool_limits(1):
        seen, loss = _sample(geometry, field, seed=seed, tracks=tracks, threads=threads)
        if len(loss) < ENOUGH:
            raise ParkfError(f"electrons: {len(loss)} good fits to train on, expected at least {ENOUGH}")
        values, errors = fit_mixture(seen, loss)
    return ElectronFit.of(np.append(values, SURELY), np.append(errors, np.nan), len(loss))


def _sample(
    geometry: Geometry, field: FieldMap, *, seed: int, tracks: int, threads: int | None
) -> tuple[TrackSeen, F64]:
    """Return good fits of momenta in the range, and the losses ln(p where produced / p of the fit), (n,)."""
    parts, losses = [], []
    for columns in simulate_electrons(geometry, field, tracks=tracks, seed=seed, threads=threads):
        candidates = from_arrays(columns, np.float64)
        fit = partial(fit_full, geometry, field, candidates, threads=threads)
        seen, good = TrackSeen.of(fit(), fit(kind=KINDS["upstream"]), candidates)
        p = 1 / np.abs(seen.qop)
        good &= (p > RANGE[0]) & (p < RANGE[1])
        parts.append(seen.rows(good))
        losses.append(-np.log(np.abs(columns["true_qop"]) * p)[good])
    return TrackSeen.joined(parts), np.concatenate(losses)


def fit_mixture(seen: TrackSeen, loss: F64) -> tuple[F64, F64]:
    """Fit all numbers but the last to losses (n,); return values and errors."""

    def nll(numbers: F64) -> float:
        at, _ = density(np.append(numbers, SURELY), seen, loss)
        return -float(np.log(at + _LEAST).sum())

    names = [name for _, name, _ in _electron.names][:-1]
    minuit = Minuit(nll, np.array(_START), name=names)
    for name, limits in _LIMITS.items():
        minuit.limits[name] = limits
    minuit.errordef = Minuit.LIKELIHOOD
    minuit.migrad()
    if not minuit.valid:
        raise ParkfError("electrons: the fit of what they radiate did not converge; use another seed")
    return np.array(minuit.values), np.array(minuit.errors)
