"""Training of what electrons radiate: a mixture, from simulated electrons and their full fits.

The density is that of ``src/kernel/fit/electron.hpp``. Here it is repeated with its gradient, for the
minimiser; tests compare both. The full fits need no parameter set, so that this training waits for nothing.
"""

from functools import partial

import numpy as np
from iminuit import Minuit
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr
from threadpoolctl import threadpool_limits

import parkf._electron as _electron
from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.fit.candidates import from_arrays
from parkf.fit.electron import TrackSeen
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
_NODES = np.cos((np.arange(_electron.soft_nodes) + 0.5) / _electron.soft_nodes * np.pi / 2) ** 2


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
    names = [name for _, name, _ in _electron.names][:-1]
    likelihood = Likelihood(seen, loss)
    minuit = Minuit(likelihood.value, np.array(_START), grad=likelihood.gradient, name=names)
    for name, limits in _LIMITS.items():
        minuit.limits[name] = limits
    minuit.errordef = Minuit.LIKELIHOOD
    minuit.migrad()
    if not minuit.valid:
        raise ParkfError("electrons: the fit of what they radiate did not converge; use another seed")
    return np.array(minuit.values), np.array(minuit.errors)


class Likelihood:
    """Negative logarithm of the likelihood of losses, and its gradient."""

    def __init__(self, seen: TrackSeen, loss: F64) -> None:
        modules, sure, turn = seen.inputs
        one = np.ones(len(loss))
        # What multiplies the numbers of the weight, of the soft scale and of the hard scale.
        self._by = [np.stack(each, axis=1) for each in ((one, modules, sure, turn), (one, modules, turn))]
        self._by.append(np.stack((one, sure, turn), axis=1))
        self._loss, self._width = loss, np.sqrt(seen.variance) / np.abs(seen.qop)
        self._last: tuple[bytes, float, F64] = (b"", 0.0, np.zeros(0))

    def value(self, numbers: F64) -> float:
        """Return the negative logarithm at numbers (12,)."""
        return self._at(numbers)[0]

    def gradient(self, numbers: F64) -> F64:
        """Return its gradient, (12,)."""
        return self._at(numbers)[1]

    def _at(self, numbers: F64) -> tuple[float, F64]:
        numbers = np.asarray(numbers, np.float64)
        if self._last[0] != numbers.tobytes():
            self._last = (numbers.tobytes(), *self._computed(numbers))
        return self._last[1:]

    def _computed(self, numbers: F64) -> tuple[float, F64]:
        parts = [rows @ part for rows, part in zip(self._by, np.split(numbers[:10], (4, 7)), strict=True)]
        weight = 1 / (1 + np.exp(-parts[0]))
        soft_scale, hard_scale = (np.exp(np.clip(part, -25.0, 2.0)) for part in parts[1:])
        u, width = self._loss + numbers[10], numbers[11] * self._width
        soft = np.mean([folded(u, node * soft_scale, width) for node in _NODES], axis=0)
        hard = folded(u, hard_scale, width)
        density, by_u, by_log_width = weight * soft[:3] + (1 - weight) * hard[:3]
        density = density + _LEAST
        slopes = [
            weight * (1 - weight) * (soft[0] - hard[0]) @ self._over(density, 0),
            weight * soft[3] @ self._over(density, 1),
            (1 - weight) * hard[3] @ self._over(density, 2),
            [(by_u / density).sum(), (by_log_width / density).sum() / numbers[11]],
        ]
        return -float(np.log(density).sum()), -np.concatenate(slopes)

    def _over(self, density: F64, part: int) -> F64:
        return self._by[part] / density[:, None]


def folded(u: F64, scale: F64, width: F64) -> F64:
    """Return an exponential of mean `scale` folded with a Gaussian of `width`, and its derivatives, (4, n).

    They are the density at u (n,), and its derivatives by u, by ln width and by ln scale.
    """
    z = u / width - width / scale
    gauss = np.exp(-0.5 * (u / width) ** 2)
    with np.errstate(over="ignore", invalid="ignore"):
        behind = 0.5 / scale * gauss * erfcx(-z / np.sqrt(2))
        above = np.exp(0.5 * (width / scale) ** 2 - u / scale) / scale * ndtr(z)
    density = np.where(z < 0, behind, above)
    gauss = gauss / (np.sqrt(2 * np.pi) * width)
    return np.stack(
        [
            density,
            (gauss - density) / scale,
            (width / scale) ** 2 * density - gauss * (u / scale + (width / scale) ** 2),
            density * (u / scale - 1 - (width / scale) ** 2) + gauss * width**2 / scale**2,
        ]
    )
