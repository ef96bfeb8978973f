"""Paths through the magnet as the few polynomials that a pattern recognition needs.

All of them are linear least-squares fits to rays that are carried through the field once, without material.
With h = polarity · q/p they hold for both polarities.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport import propagate
from parkf.simulation.pattern.curves import STEREO, fit_curves, slope_at
from parkf.simulation.pattern.velo import Z_REFERENCE

Terms = tuple[np.ndarray, ...]
"""What a polynomial's coefficients multiply, each (n,)."""

N_RAYS = 6000
_SEED = 20_000
_P_RANGE = (1500.0, 100_000.0)
_SLOPE_MAX = (0.3, 0.25)
_SLOPE_MIN = 0.013
"""At η = 5. Tracks are uniform in η, rays in the square of slopes: a steep ray represents fewer tracks."""
_VERTEX_SIGMA_Z = 60.0
_STEREO_SLOPE = 0.0875
"""dx/dy of stereo fibres; any will do for rays."""
_Z_START = 300.0
"""mm; where a VELO segment typically has its direction: its line neglects the bending behind this z."""
_MOST = 0.99
_SMALLEST_BEND = 1e-3
_NO_BEND = 1e-6
"""A straight track's momentum is that of this bend."""


@dataclass(frozen=True)
class MagnetModel:
    """Fitted polynomials of the bending.

    Attributes
    ----------
    z_scifi, z_end : float
        mm; z of its segments' states, in the middle of the SciFi, and of its last layer.
    cubic_ratio : float
        1/mm; cubic over quadratic coefficient of x(z - z_scifi) in the SciFi: how the field falls off there.
    curvature : float
        1/mm²; that quadratic coefficient over where the chord of the first and last layer meets z = 0.
    chord : float
        mm MeV; |x| of that place times p, which 99 % of tracks stay below.
    focusing : float
        1/mm²; y at z = 0 of the straight line in y behind the magnet, over its y at `z_scifi` and x² of that
        place.
    kink, momentum, y_shift, ty_shift : (k,) float64
        Coefficients; the methods name their terms.
    ut_shift : (4, k) float64
        The same for each UT layer.
    """

    z_scifi: float
    z_end: float
    cubic_ratio: float
    curvature: float
    chord: float
    focusing: float
    kink: np.ndarray
    momentum: np.ndarray
    y_shift: np.ndarray
    ty_shift: np.ndarray
    ut_shift: np.ndarray

    def x_at_scifi(self, velo: np.ndarray, tx_scifi: np.ndarray) -> np.ndarray:
        """X (n,) in mm at `z_scifi` of VELO lines (n, 4) that leave the magnet with slope `tx_scifi` (n,).

        Both straight lines meet in the kink, whose z is a polynomial in the slopes.
        """
        z_kink = _sum(self.kink, _kink_terms(velo, tx_scifi))
        return velo[:, 0] + velo[:, 2] * (z_kink - Z_REFERENCE) + tx_scifi * (self.z_scifi - z_kink)

    def y_at_scifi(self, velo: np.ndarray, tx_scifi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Y (n,) in mm and ty (n,) at `z_scifi`: the straight line plus the magnet's weak focusing."""
        terms = _focusing_terms(velo, tx_scifi)
        y = velo[:, 1] + velo[:, 3] * (self.z_scifi - Z_REFERENCE) + _sum(self.y_shift, terms)
        return y, velo[:, 3] + _sum(self.ty_shift, terms)

    def h(self, velo: np.ndarray, tx_end: np.ndarray) -> np.ndarray:
        """Polarity · q/p (n,) in 1/MeV from VELO lines (n, 4) and slopes (n,) at the last SciFi layer.

        The trigger's estimate (Allen, ``track_matching``, 2024): p = c₀ + (c₁ + c₂·tx'² + c₃·tx'⁴ +
        c₄·tx'·tx + c₅·ty² + c₆·ty⁴ + c₇·tx²)/abs(tx' − tx). The slope tx' is that at the end of a
        segment's curve. This costs resolution at high momentum: the error of the curvature adds to that of
        the slope there.
        """
        return 1 / _sum(self.momentum, _momentum_terms(velo, tx_end))

    def x_shift_at_ut(self, velo: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Bending (n, 4) in mm, away from the VELO line, at the UT layers."""
        terms = _ut_terms(velo)
        return np.stack([h * _sum(layer, terms) for layer in self.ut_shift], axis=1)


def fit_magnet_model(field: FieldMap, geometry: Geometry) -> MagnetModel:
    """Carry rays through the field, to the planes of the geometry, and fit the polynomials to them."""
    rays = _carry_rays(field, geometry)
    z_layers = geometry.planes()[SCIFI_PLANES, 0]
    z_scifi = float(0.5 * (z_layers[0] + z_layers[-1]))
    cubic_ratio = _cubic_ratio(z_layers - z_scifi, rays.x_scifi)
    velo, h = rays.velo, rays.h
    scifi, tx_end, quadratic = _as_segments(rays, z_layers - z_scifi, cubic_ratio)
    chord = rays.x_scifi[:, 0] - z_layers[0] * (rays.x_scifi[:, -1] - rays.x_scifi[:, 0]) / np.ptp(z_layers)

    weight = 1 / np.maximum(np.hypot(velo[:, 2], velo[:, 3]), _SLOPE_MIN)

    bend = scifi[:, 2] - velo[:, 2]
    sizeable = np.abs(bend) > _SMALLEST_BEND
    # The z of the kink solves x_velo + tx_velo (z - z0) = x_scifi + tx_scifi (z - z1). Multiplied by the
    # bend, its residual is an error in x.
    kink_times_bend = velo[:, 0] - velo[:, 2] * Z_REFERENCE - scifi[:, 0] + scifi[:, 2] * z_scifi
    kink_terms = np.column_stack(_kink_terms(velo, scifi[:, 2])) * bend[:, None]
    focusing = np.column_stack(_focusing_terms(velo, scifi[:, 2]))
    momentum_terms = np.column_stack(_momentum_terms(velo, tx_end))
    ut_terms = np.column_stack(_ut_terms(velo))
    straight_y = velo[:, 1] + velo[:, 3] * (z_scifi - Z_REFERENCE)
    straight_x = velo[:, :1] + velo[:, 2:3] * (geometry.planes()[UT_PLANES, 0] - Z_REFERENCE)
    return MagnetModel(
        z_scifi=z_scifi,
        z_end=float(z_layers[-1]),
        cubic_ratio=cubic_ratio,
        curvature=_ratio(quadratic, chord),
        # Without rays or without a field nothing is bent.
        chord=float(np.quantile(np.abs(chord / h), _MOST)) if len(h) else 0.0,
        focusing=_focusing(scifi, chord, z_scifi),
        kink=_solve(kink_terms[sizeable], kink_times_bend[sizeable]),
        momentum=_solve(momentum_terms * (weight * h)[:, None], weight),
        y_shift=_solve(focusing, scifi[:, 1] - straight_y),
        ty_shift=_solve(focusing, scifi[:, 3] - velo[:, 3]),
        ut_shift=np.stack([_solve(ut_terms, shift / h) for shift in (rays.x_ut - straight_x).T]),
    )


@dataclass(frozen=True)
class _Rays:
    """VELO lines (n, 4), h (n,), and positions in mm at the UT (n, 4) and SciFi layers (n, 12) each."""

    velo: np.ndarray
    h: np.ndarray
    x_ut: np.ndarray
    x_scifi: np.ndarray
    y_scifi: np.ndarray


def _carry_rays(field: FieldMap, geometry: Geometry) -> _Rays:
    """Rays from the beam spot that stay within the SciFi."""
    random = np.random.Generator(np.random.Philox(_SEED))
    tx, ty = (limit * (2 * random.random(N_RAYS) - 1) for limit in _SLOPE_MAX)
    low, high = np.log(_P_RANGE)
    h = random.choice([-1.0, 1.0], N_RAYS) * np.exp(-(low + (high - low) * random.random(N_RAYS)))
    path = _Z_START - _VERTEX_SIGMA_Z * random.standard_normal(N_RAYS)
    velo = np.column_stack([tx * path, ty * path, tx, ty])
    states, z = np.column_stack([velo, h]), np.full(N_RAYS, _Z_START)
    velo[:, :2] += velo[:, 2:] * (Z_REFERENCE - _Z_START)

    alive = np.ones(N_RAYS, bool)
    at_planes = []
    for z_plane in geometry.planes()[[*UT_PLANES, *SCIFI_PLANES], 0]:
        # With polarity +1, h is q/p.
        moved = propagate(field, 1, states, z, (z_plane, 0.0, 0.0))
        alive &= moved.ok
        states, z = np.where(moved.ok[:, None], moved.states, states), np.where(moved.ok, moved.z, z)
        at_planes.append(states)
    last = geometry.scifi.layers[-1]
    alive &= (np.abs(states[:, 0]) < last.half_width) & (np.abs(states[:, 1]) < last.half_height)
    x, y = np.stack(at_planes, axis=2)[alive, :2].transpose(1, 0, 2)
    n_ut = len(UT_PLANES)
    return _Rays(velo[alive], h[alive], x[:, :n_ut], x[:, n_ut:], y[:, n_ut:])


def _as_segments(rays: _Rays, z: np.ndarray, cubic_ratio: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit rays as SciFi segments, with layers at z (12,).

    Return states (n, 4) at z = 0, slopes (n,) at the end, and quadratic coefficients (n,) in 1/mm.
    """
    layers = np.arange(z.size) + z.size * np.arange(len(rays.h))[:, None]
    shape = layers.shape
    fibre = {
        "x": (rays.x_scifi - _STEREO_SLOPE * STEREO * rays.y_scifi).ravel(),
        "z": np.broadcast_to(z, shape).ravel(),
        "dxdy": np.broadcast_to(_STEREO_SLOPE * STEREO, shape).ravel(),
        "dzdy": np.zeros(layers.size),
    }
    curves = fit_curves(fibre, layers, 0.0, cubic_ratio)
    return curves[:, [0, 3, 1, 4]], slope_at(curves, z[-1], cubic_ratio), curves[:, 2]


def _solve(terms: np.ndarray, values: np.ndarray) -> np.ndarray:
    scale = np.sqrt((terms**2).mean(0))
    return np.linalg.lstsq(terms / scale, values, rcond=None)[0] / scale


def _sum(coefficients: np.ndarray, terms: Terms) -> np.ndarray:
    """Add up term by term: unlike in a matrix product, a track's rounding then depends on no other track."""
    return reduce(np.add, (c * term for c, term in zip(coefficients, terms, strict=True)))


def _kink_terms(velo: np.ndarray, tx_scifi: np.ndarray) -> Terms:
    tx, ty, bend = velo[:, 2], velo[:, 3], tx_scifi - velo[:, 2]
    tx2, ty2, bend2, product = tx * tx, ty * ty, bend * bend, tx * bend
    return np.ones_like(tx), tx2, ty2, product, bend2, bend2 * bend2, tx2 * product, ty2 * bend2


def _focusing_terms(velo: np.ndarray, tx_scifi: np.ndarray) -> Terms:
    tx, ty, bend = velo[:, 2], velo[:, 3], tx_scifi - velo[:, 2]
    ty2, bend2, product = ty * ty, bend * bend, tx * bend
    once = product * ty
    return once, bend2 * ty, tx * tx * once, bend2 * bend2 * ty, ty2 * bend2 * ty, ty2 * once


def _momentum_terms(velo: np.ndarray, tx_end: np.ndarray) -> Terms:
    """Terms of polarity · p/q."""
    tx, ty, bend = velo[:, 2], velo[:, 3], tx_end - velo[:, 2]
    charge = np.where(bend < 0, -1.0, 1.0)
    per_bend = 1.0 / np.where(np.abs(bend) < _NO_BEND, _NO_BEND, bend)
    end2, ty2 = tx_end * tx_end, ty * ty
    slopes = (end2, end2 * end2, tx_end * tx, ty2, ty2 * ty2, tx * tx)
    return charge, per_bend, *(term * per_bend for term in slopes)


def _ut_terms(velo: np.ndarray) -> Terms:
    tx, ty = velo[:, 2], velo[:, 3]
    return np.ones_like(tx), tx * tx, ty * ty


def _focusing(scifi: np.ndarray, chord: np.ndarray, z_scifi: float) -> float:
    """Least-squares ratio of where the lines in y meet z = 0 to y · chord²."""
    return _ratio(scifi[:, 1] - scifi[:, 3] * z_scifi, scifi[:, 1] * chord**2)


def _ratio(values: np.ndarray, scale: np.ndarray) -> float:
    """Least-squares ratio, 0 where nothing determines it."""
    square = float((scale**2).sum())
    return float((values * scale).sum()) / square if square > 0 else 0.0


def _cubic_ratio(z: np.ndarray, x: np.ndarray) -> float:
    """Least-squares ratio of cubic to quadratic coefficient over all rays."""
    coefficients = np.polynomial.polynomial.polyfit(z, x.T, 3)
    quadratic, cubic = coefficients[2], coefficients[3]
    return float((quadratic * cubic).sum() / (quadratic**2).sum())
