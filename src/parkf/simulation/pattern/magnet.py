"""The polynomials that a pattern recognition needs to describe paths through the magnet.

All of them are fitted by linear least squares to rays, which are carried through the field without material.
They are functions of h = polarity · q/p, and therefore hold for both polarities.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport import propagate
from parkf.simulation.pattern.curves import STEREO, fit_curves, slope_at
from parkf.simulation.pattern.velo import Z_REFERENCE

Terms = tuple[np.ndarray, ...]  # terms of a polynomial without their coefficients, (n,) each

P_MIN = 1500.0  # MeV; smallest momentum of rays, and of a candidate by its first estimate
N_RAYS = 6000
_SEED = 20_000
_P_MAX = 100_000.0
_SLOPE_MAX = (0.3, 0.25)
# The slope at η = 5. Tracks are uniform in η, but rays are uniform in tx and ty. A steep ray therefore
# represents fewer tracks, and has a smaller weight.
_SLOPE_MIN = 0.013
_VERTEX_SIGMA_Z = 60.0
_STEREO_SLOPE = 0.0875  # dx/dy of the stereo fibres; any value is good enough for rays
# mm; rays start at this z, where a track typically still has the direction of its VELO segment.
_Z_START = 300.0
_MOST = 0.99
_SMALLEST_BEND = 1e-3
# Rounds until the line in front of the magnet agrees with what the polynomials make of it.
_ROUNDS = 4
_NO_BEND = 1e-6  # a straight track is assigned the momentum of this bend


@dataclass(frozen=True)
class MagnetModel:
    """Fitted polynomials of the bending; the methods use the terms that the coefficients (k,) belong to.

    The chord of a track is the straight line through its first and last SciFi layer.
    """

    z_scifi: float  # mm; z of the states of SciFi segments, in the middle of the SciFi
    z_end: float  # mm; z of the last layer
    # 1/mm; cubic over quadratic coefficient of x(z - z_scifi), which describes the decrease of the field.
    cubic_ratio: float
    curvature: float  # 1/mm²; the same quadratic coefficient, divided by x of the chord at z = 0
    chord: float  # mm MeV; 99 % quantile of |x| of the chord at z = 0, times p
    chord_per_h: float  # mm MeV; x of the chord at z = 0 over h, on average
    # 1/mm²; y at z = 0 of the line behind the magnet, divided by y at z_scifi and by x² of the chord
    focusing: float
    kink: np.ndarray
    momentum: np.ndarray
    y_shift: np.ndarray
    ty_shift: np.ndarray
    ut_shift: np.ndarray  # (4, k), one row for each UT layer

    def x_at_scifi(self, velo: np.ndarray, tx_scifi: np.ndarray) -> np.ndarray:
        """Return x (n,) in mm at `z_scifi` of VELO lines (n, 4) that have slope `tx_scifi` (n,) there.

        The straight lines before and behind the magnet meet in the kink, whose z is a polynomial in the
        slopes.
        """
        z_kink = self.z_kink(velo, tx_scifi)
        return velo[:, 0] + velo[:, 2] * (z_kink - Z_REFERENCE) + tx_scifi * (self.z_scifi - z_kink)

    def z_kink(self, velo: np.ndarray, tx_scifi: np.ndarray) -> np.ndarray:
        """Return z (n,) in mm where the straight lines before and behind the magnet meet."""
        return _sum(self.kink, _kink_terms(velo, tx_scifi))

    def lines_from_origin(self, scifi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the line (n, 4) at `Z_REFERENCE` in front of the magnet, and z (n,) of the kink.

        `scifi` (n, 4) are states at `z_scifi`. In x the line comes from z = 0. In y it is the one that the
        magnet's weak focusing turns into the measured one, wherever it comes from.
        """
        x, y, tx, ty = scifi.T
        lines = np.column_stack([x, y, x / self.z_scifi, ty])
        for _ in range(_ROUNDS):
            z_kink = self.z_kink(lines, tx)
            lines[:, 2] = (x + tx * (z_kink - self.z_scifi)) / z_kink
            lines[:, 3] = ty - _sum(self.ty_shift, _focusing_terms(lines, tx))
        lines[:, 0] = lines[:, 2] * Z_REFERENCE
        y = y - _sum(self.y_shift, _focusing_terms(lines, tx))
        lines[:, 1] = y + lines[:, 3] * (Z_REFERENCE - self.z_scifi)
        return lines, z_kink

    def y_at_scifi(self, velo: np.ndarray, tx_scifi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return y (n,) in mm and ty (n,) at `z_scifi`: the straight line plus the magnet's weak focusing."""
        terms = _focusing_terms(velo, tx_scifi)
        y = velo[:, 1] + velo[:, 3] * (self.z_scifi - Z_REFERENCE) + _sum(self.y_shift, terms)
        return y, velo[:, 3] + _sum(self.ty_shift, terms)

    def h(self, velo: np.ndarray, tx_end: np.ndarray) -> np.ndarray:
        """Polarity · q/p (n,) in 1/MeV from VELO lines (n, 4) and slopes (n,) at the last SciFi layer.

        This is the trigger's estimate (Allen, ``track_matching``, 2024): p = c₀ + (c₁ + c₂·tx'² + c₃·tx'⁴ +
        c₄·tx'·tx + c₅·ty² + c₆·ty⁴ + c₇·tx²)/abs(tx' − tx). Here tx' is the slope at the end of a segment's
        curve. The resolution at high momentum is worse than with the slope in the middle, because at the end
        the error of the curvature adds to the error of the slope.
        """
        return 1 / _sum(self.momentum, _momentum_terms(velo, tx_end))

    def x_shift_at_ut(self, velo: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Bending (n, 4) in mm, away from the VELO line, at the UT layers."""
        terms = _ut_terms(velo)
        return np.stack([h * _sum(layer, terms) for layer in self.ut_shift], axis=1)


def fit_magnet_model(field: FieldMap, geometry: Geometry) -> MagnetModel:
    """Carry rays through the field, to the planes of the geometry, and fit the polynomials to them."""
    velo, h, x, y = _carry_rays(field, geometry)
    x_ut, x_scifi, y_scifi = x[:, : len(UT_PLANES)], x[:, len(UT_PLANES) :], y[:, len(UT_PLANES) :]
    z_layers = geometry.planes()[SCIFI_PLANES, 0]
    z_scifi = float(0.5 * (z_layers[0] + z_layers[-1]))
    z = z_layers - z_scifi
    _, _, quadratic, cubic = np.polynomial.polynomial.polyfit(z, x_scifi.T, 3)
    cubic_ratio = float((quadratic * cubic).sum() / (quadratic**2).sum())
    # Fit curves to the positions of the rays in the layers, as for SciFi segments.
    dxdy = np.broadcast_to(_STEREO_SLOPE * STEREO, x_scifi.shape).ravel()
    places = {"z": np.broadcast_to(z, x_scifi.shape).ravel(), "dzdy": np.zeros(x_scifi.size)}
    fibre = places | {"x": x_scifi.ravel() - dxdy * y_scifi.ravel(), "dxdy": dxdy}
    curves = fit_curves(fibre, np.arange(x_scifi.size).reshape(x_scifi.shape), 0.0, cubic_ratio)
    tx_end = slope_at(curves, z[-1], cubic_ratio)
    x0, tx0, bent, y0, ty0 = curves.T
    chord = x_scifi[:, 0] - z_layers[0] * (x_scifi[:, -1] - x_scifi[:, 0]) / np.ptp(z_layers)
    weight = 1 / np.maximum(np.hypot(velo[:, 2], velo[:, 3]), _SLOPE_MIN)
    bend = tx0 - velo[:, 2]
    sizeable = np.abs(bend) > _SMALLEST_BEND
    # The z of the kink solves x_velo + tx_velo (z - z0) = x_scifi + tx_scifi (z - z1). Multiplied by the
    # bend, its residual is an error in x.
    kink_times_bend = velo[:, 0] - velo[:, 2] * Z_REFERENCE - x0 + tx0 * z_scifi
    kink_terms = np.column_stack(_kink_terms(velo, tx0)) * bend[:, None]
    focusing = np.column_stack(_focusing_terms(velo, tx0))
    momentum_terms = np.column_stack(_momentum_terms(velo, tx_end))
    ut_terms = np.column_stack(_ut_terms(velo))
    straight_y = velo[:, 1] + velo[:, 3] * (z_scifi - Z_REFERENCE)
    straight_x = velo[:, :1] + velo[:, 2:3] * (geometry.planes()[UT_PLANES, 0] - Z_REFERENCE)
    return MagnetModel(
        z_scifi=z_scifi,
        z_end=float(z_layers[-1]),
        cubic_ratio=cubic_ratio,
        curvature=_ratio(bent, chord),
        # Without rays or without a field, tracks are straight.
        chord=float(np.quantile(np.abs(chord / h), _MOST)) if len(h) else 0.0,
        chord_per_h=_ratio(chord, h),
        focusing=_ratio(y0 - ty0 * z_scifi, y0 * chord**2),
        kink=_solve(kink_terms[sizeable], kink_times_bend[sizeable]),
        momentum=_solve(momentum_terms * (weight * h)[:, None], weight),
        y_shift=_solve(focusing, y0 - straight_y),
        ty_shift=_solve(focusing, ty0 - velo[:, 3]),
        ut_shift=np.stack([_solve(ut_terms, shift / h) for shift in (x_ut - straight_x).T]),
    )


def _carry_rays(field: FieldMap, geometry: Geometry) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Carry rays from the beam spot through the field, and keep those that stay within the SciFi.

    Return their VELO lines (n, 4), h (n,), and x and y (n, 16) in mm at the layers of UT and SciFi.
    """
    random = np.random.Generator(np.random.Philox(_SEED))
    tx, ty = (limit * (2 * random.random(N_RAYS) - 1) for limit in _SLOPE_MAX)
    low, high = np.log((P_MIN, _P_MAX))
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
    return velo[alive], h[alive], x, y


def _solve(terms: np.ndarray, values: np.ndarray) -> np.ndarray:
    scale = np.sqrt((terms**2).mean(0))
    return np.linalg.lstsq(terms / scale, values, rcond=None)[0] / scale


def _sum(coefficients: np.ndarray, terms: Terms) -> np.ndarray:
    """Add up term by term; in a matrix product, the rounding of a track could depend on other tracks."""
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


def _ratio(values: np.ndarray, scale: np.ndarray) -> float:
    """Return the ratio by least squares, or 0 if the data do not determine it."""
    square = float((scale**2).sum())
    return float((values * scale).sum()) / square if square > 0 else 0.0
