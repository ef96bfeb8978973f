"""Quantities of a fitted candidate whose means show whether a set fits its detector.

They are scores: derivatives of the log likelihood of a track's residuals with respect to one change of the
detector (:mod:`parkf.fit.residuals`). Their means are near 0 for a right set, whatever the momenta are, and
no other number of the same residuals measures such a small change better. Quantities of hit errors and of
noise are in units of the tracks' information on them, so that an average of 0.1 is about 10 % of f².
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
"""χ²/ndof of the tracks that count: the paper's cut, which leaves one ghost in three."""
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

    @classmethod
    def of(cls, tracks: Candidates) -> "Stations":
        """Find the z of all modules in a sample: values that are at least 1 mm apart.

        A module with fewer than 300 hits is left out, since the mean of so few is not Gaussian.
        """
        z = tracks.velo[2][np.isfinite(tracks.velo[2])].astype(np.float64)
        values, counts = np.unique(np.round(z, 1), return_counts=True)
        first = np.flatnonzero(np.diff(values, prepend=-np.inf) > 1.0)
        groups = list(zip(first, [*first[1:], None], strict=True))
        enough = [(a, b) for a, b in groups if counts[a:b].sum() >= _FEWEST_HITS]
        return cls(np.array([np.average(values[a:b], weights=counts[a:b]) for a, b in enough]))

    def number(self, z: Floats) -> NDArray[np.int64]:
        """Return the number of the nearest module, of the shape of `z`."""
        return nearest(self.z, z)

    @property
    def names(self) -> list[str]:
        """Name each module by the z of its hits."""
        return [f"VELO module at {z:.1f} mm" for z in self.z]


def names(stations: Stations) -> list[str]:
    """Names of the quantities, in their order."""
    return [
        *(f"{axis} of {layer}" for axis in "xz" for layer in STRIP_LAYERS),
        *(f"{axis} of {module}" for axis in "xy" for module in stations.names),
        *(f"error of {name}" for name in ("VELO x", "VELO y", *STRIP_LAYERS)),
        *(f"noise of {region}" for region in REGIONS),
        *(f"χ² of {name}, {of} GeV" for name in DETECTORS for of in classes()),
    ]


def classes() -> list[str]:
    """Names of the classes of momentum, in GeV."""
    low, high = MOMENTA
    return [f"below {low:g}", f"{low:g} to {high:g}", f"above {high:g}"]


def usable(fitted: Fitted) -> NDArray[np.bool_]:
    """Whether a candidate counts: a good fit of all detectors with a usual χ², (n,)."""
    with np.errstate(invalid="ignore"):
        return is_good(fitted.status) & (fitted.chi2 < GOOD_CHI2 * fitted.ndof) & (fitted.ndof_scifi > 0)


def measure(
    parameters: ParameterSet, tracks: Candidates, stations: Stations, limit: float | None = None
) -> tuple[Floats, Fitted]:
    """Return the quantities of the usable candidates, (m, k), and all fits; see :func:`quantities`."""
    fitted, residuals = fit_residuals(parameters, tracks)
    return quantities(tracks, fitted, residuals, stations, limit), fitted


def quantities(
    tracks: Candidates,
    fitted: Fitted,
    residuals: Residuals,
    stations: Stations,
    limit: float | None = None,
) -> Floats:
    """Return the quantities of usable candidates, (m, k).

    With a `limit`, squares of pulls and what scattering shows count up to its square times what is expected.
    A hard scattering then counts as little for the hit errors as for the noise, of which it is no part: both
    are widths of cores.
    """
    use = usable(fitted)
    w, d, by_k = (a[:, use].astype(np.float64) for a in (residuals.w, residuals.d, residuals.by_k))
    has, variance = d > 0, residuals.variance[:, use]
    weight = np.where(has, d - by_k**2 * residuals.qop_variance[use], 0.0)
    velo_x, velo_y, strips = np.split(np.arange(len(w)), [VELO_SLOTS, 2 * VELO_SLOTS])
    # A module at larger x has its hits at smaller x; at larger z, where the track is further along its slope.
    slopes = along(residuals)[:, use]
    columns = [-w[strips].T, (w[strips] * slopes).T]
    modules = residuals.modules(tracks, stations.number)[:, use]
    columns += [_by_module(modules, w[axis], has[axis], len(stations.z)) for axis in (velo_x, velo_y)]
    square, level, of_step = w**2, 1.0, 1.0
    if limit is not None:
        square, level = np.minimum(square, limit**2 * weight), core_level(limit)
        # A step scatters in two planes: the sum of two squares is exponential.
        of_step = 1 - np.exp(-(limit**2))
    error = variance * (square - level * weight)
    error_columns = [error[velo_x].sum(0)[None], error[velo_y].sum(0)[None], error[strips]]
    columns.append(np.concatenate(error_columns).T)
    kicks, expected = residuals.scatter[:, :, use].astype(np.float64).transpose(1, 0, 2)
    seen = (kicks if limit is None else np.minimum(kicks, limit**2 * expected)) - of_step * expected
    columns.append(np.stack([seen[region == REGION_OF].sum(0) for region in range(len(REGIONS))], axis=1))
    momentum = np.digitize(1e-3 / np.abs(fitted.qop[use]), MOMENTA)
    for name in ("velo", "ut", "scifi"):
        chi2, ndof = getattr(fitted, f"chi2_{name}")[use], getattr(fitted, f"ndof_{name}")[use]
        if limit is not None:
            chi2 = np.minimum(chi2, ndof + limit * np.sqrt(2 * ndof))
        columns.append(np.where(momentum[:, None] == np.arange(3), (chi2 - ndof)[:, None], 0.0))
    return np.concatenate(columns, axis=1)


def core_level(limit: float) -> float:
    """Return the mean of the square of a standard normal number that counts up to `limit`."""
    inside = erf(limit / np.sqrt(2))
    density = np.sqrt(2 / np.pi) * np.exp(-(limit**2) / 2)
    return float(inside - limit * density + limit**2 * (1 - inside))


def along(residuals: Residuals) -> Floats:
    """Return the change of the UT and SciFi coordinates for a layer at larger z, (16, n), mm/mm."""
    tx, ty = residuals.state[VELO_SLOTS:, 2:].astype(np.float64).transpose(1, 0, 2)
    return np.asarray(tx - residuals.dxdy * ty)


def _by_module(modules: NDArray[np.int64], w: Floats, has: NDArray[np.bool_], count: int) -> Floats:
    """Add up −w (26, m) of the VELO hits of each module, (m, modules)."""
    slots, of = np.nonzero(has)
    place = of * count + modules[slots, of]
    summed: Floats = np.bincount(place, -w[slots, of], w.shape[1] * count).astype(np.float64)
    return summed.reshape(w.shape[1], count)
