"""Quantities of a fitted candidate whose means show whether hit errors and scattering are those of a set.

They are scores: derivatives of the log likelihood of a track's residuals with respect to a factor on an error
(:mod:`parkf.fit.residuals`), in units of the tracks' information on it, so that an average of 0.1 is about
10 % of f². Squares of pulls, and what scattering shows, count up to :data:`LIMIT` standard deviations: a hard
scattering counts as little for the hit errors as for the noise, of which it is no part. Both are widths of
cores. Means are compared per information, so that a layer that loses hits keeps its errors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from parkf.data.elements import nearest
from parkf.data.equations import Floats
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted, is_good
from parkf.fit.residuals import Residuals, fit_residuals
from parkf.io.planes import SCIFI_LAYERS, UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet

GOOD_CHI2 = 3.0
"""χ²/ndof of the tracks that count, unless the median is above 1: the paper's cut."""
LIMIT = 2.0
"""Standard deviations up to which a pull, or a step's scattering, counts."""
STRIP_LAYERS = (
    *(f"UT layer {layer}" for layer in range(UT_LAYERS)),
    *(f"SciFi layer {layer}" for layer in range(SCIFI_LAYERS)),
)
DETECTORS = ("VELO", "UT", "SciFi")
REGIONS = ("VELO", "VELO to UT", "UT", "magnet", "SciFi")
"""Steps whose scattering is measured together."""
REGION_OF = np.repeat(np.arange(len(REGIONS)), (VELO_SLOTS, 1, UT_LAYERS - 1, 1, SCIFI_LAYERS - 1))
_FEWEST_HITS = 300
MOMENTA = (5.0, 15.0)
"""GeV: bounds of three classes of momentum for χ²."""


@dataclass(frozen=True)
class Stations:
    """VELO modules, as the hits of a sample show them."""

    z: Floats  # (m,), mm, ascending
    left: NDArray[np.bool_]  # (m,): whether a module is at x > 0

    @classmethod
    def of(cls, tracks: Candidates) -> "Stations":
        """Find the z of all modules in a sample: values that are at least 1 mm apart.

        A module with fewer than 300 hits is left out, since the mean of so few is not Gaussian.
        """
        there = np.isfinite(tracks.velo[2])
        z, x = (tracks.velo[axis][there].astype(np.float64) for axis in (2, 0))
        values, of, counts = np.unique(np.round(z, 1), return_inverse=True, return_counts=True)
        positive = np.bincount(of, x > 0, len(values))
        first = np.flatnonzero(np.diff(values, prepend=-np.inf) > 1.0)
        groups = list(zip(first, [*first[1:], None], strict=True))
        enough = [(a, b) for a, b in groups if counts[a:b].sum() >= _FEWEST_HITS]
        left = np.array([2 * positive[a:b].sum() > counts[a:b].sum() for a, b in enough], bool)
        return cls(np.array([np.average(values[a:b], weights=counts[a:b]) for a, b in enough]), left)

    def number(self, z: Floats) -> NDArray[np.int64]:
        """Return the number of the nearest module, of the shape of `z`."""
        return nearest(self.z, z)

    @property
    def names(self) -> list[str]:
        """Name each module by the z of its hits."""
        return [f"VELO module at {z:.1f} mm" for z in self.z]


NAMES = (
    *(f"error of {name}" for name in ("VELO x", "VELO y", *STRIP_LAYERS)),
    *(f"noise of {region}" for region in REGIONS),
    *(f"χ² of {name}, class {of}" for name in DETECTORS for of in range(len(MOMENTA) + 1)),
)
"""Names of the quantities, in their order."""


def usable(fitted: Fitted) -> NDArray[np.bool_]:
    """Whether a candidate counts: a good fit of all detectors with a usual χ², (n,).

    Where parts are displaced by more than the errors of their hits, all tracks have a large χ²: the bound on
    χ²/ndof is three times the median, if this is above 1.
    """
    fits = is_good(fitted.status) & (fitted.ndof_scifi > 0)
    reduced = np.divide(fitted.chi2, fitted.ndof, out=np.full(len(fits), np.inf), where=fits)
    median = float(np.median(reduced[fits])) if fits.any() else 1.0
    return np.asarray(reduced < GOOD_CHI2 * max(1.0, median))


def measure(parameters: ParameterSet, tracks: Candidates) -> tuple[Floats, Floats]:
    """Return quantities and information of the usable candidates, (m, k) each; see :func:`quantities`."""
    return quantities(*fit_residuals(parameters, tracks))


def quantities(fitted: Fitted, residuals: Residuals) -> tuple[Floats, Floats]:
    """Return the quantities of the usable candidates and the information on them, (m, k) each."""
    use = usable(fitted)
    w, d, by_k = (a[:, use].astype(np.float64) for a in (residuals.w, residuals.d, residuals.by_k))
    weight = np.where(d > 0, d - by_k**2 * residuals.qop_variance[use], 0.0)
    variance = residuals.variance[:, use]
    error = variance * (np.minimum(w**2, LIMIT**2 * weight) - core_level(LIMIT) * weight)
    columns, known = [_by_part(error)], [_by_part(variance * weight)]
    kicks, expected = residuals.scatter[:, :, use].astype(np.float64).transpose(1, 0, 2)
    # A step scatters in two planes: the sum of two squares is exponential.
    seen = np.minimum(kicks, LIMIT**2 * expected) - (1 - np.exp(-(LIMIT**2))) * expected
    for of, into in ((seen, columns), (expected, known)):
        into.append(np.stack([of[region == REGION_OF].sum(0) for region in range(len(REGIONS))], axis=1))
    momentum = np.digitize(1e-3 / np.abs(fitted.qop[use]), MOMENTA)[:, None] == np.arange(len(MOMENTA) + 1)
    for name in ("velo", "ut", "scifi"):
        chi2, ndof = getattr(fitted, f"chi2_{name}")[use], getattr(fitted, f"ndof_{name}")[use]
        chi2 = np.minimum(chi2, ndof + LIMIT * np.sqrt(2 * ndof))
        columns.append(np.where(momentum, (chi2 - ndof)[:, None], 0.0))
        known.append(np.where(momentum, ndof[:, None], 0.0))
    return np.concatenate(columns, axis=1), np.concatenate(known, axis=1)


def core_level(limit: float) -> float:
    """Return the mean of the square of a standard normal number that counts up to `limit`."""
    inside = erf(limit / np.sqrt(2))
    density = np.sqrt(2 / np.pi) * np.exp(-(limit**2) / 2)
    return float(inside - limit * density + limit**2 * (1 - inside))


def _by_part(values: Floats) -> Floats:
    """Add up coordinates (68, m) of x and of y in the VELO; those of the strips stay, (m, 18)."""
    x, y, strips = np.split(values, [VELO_SLOTS, 2 * VELO_SLOTS])
    return np.concatenate([x.sum(0)[None], y.sum(0)[None], strips]).T
