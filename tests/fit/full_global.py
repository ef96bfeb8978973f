"""Fit a track by global least squares, without filter or gain; all derivatives are differences.

Every number that can move the track is fitted: the state at the beam line and, at each passage through
material, two scattering angles and the energy loss beyond the mean. The method of Gauss and Newton minimises
the sum of two kinds of squares: distances from hits over their errors, and the fitted scattering angles and
losses over their widths. Derivatives come from repeating each track with one number moved at a time.
"""

from dataclasses import dataclass

import numpy as np
from full_layers import Layer, layers_of
from full_material import ANGLE_CUT, ENERGY_CUT, PION, VELO_CUT, Effects, layer_effects
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.detector.transport import propagate
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted

F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

_ROUNDS = 3
_MOVED = 0.05  # widths by which a number is moved for its derivative
_TOLERANCE = 1e-7  # mm; of a Runge-Kutta step


@dataclass(frozen=True)
class Knowledge:
    """Errors that separate noise from tails: of q/p (relative), of directions in the VELO, and behind it."""

    error: F64
    in_velo: F64
    behind: F64


def fit_globally(
    geometry: Geometry, field: FieldMap, tracks: Candidates, near: Fitted, knowledge: Knowledge
) -> tuple[F64, F64]:
    """Return states (n, 5) at the z of the fits `near`, and their covariances (n, 5, 5).

    Parameters
    ----------
    geometry, field
        The detector and field that the fit assumes.
    tracks : Candidates
        All of one polarity, and all with good fits.
    near : Fitted
        Fits that set the starting states and the final z.
    knowledge : Knowledge
    """
    return _Problem(geometry, field, tracks, near, knowledge).solve()


class _Problem:
    def __init__(
        self, geometry: Geometry, field: FieldMap, tracks: Candidates, near: Fitted, knowledge: Knowledge
    ) -> None:
        self.field, self.polarity, self.knowledge = field, int(tracks.polarity[0]), knowledge
        self.layers = layers_of(geometry, tracks)
        self.tubes = [
            (tube, geometry.description.materials[tube.material]) for tube in geometry.description.tubes
        ]
        self.z = near.z
        self.first_z = tracks.velo[2][:, 0].astype(np.float64)
        self.start = np.column_stack([near.x, near.y, near.tx, near.ty, near.qop])
        self.widths = np.sqrt(np.column_stack([near.xx, near.yy, near.txtx, near.tyty, near.qopqop]))
        # The effects of material are computed along the first guess and then stay fixed.
        self.effects: list[Effects] = []
        self._walk(self.start, None)
        self.count = 5 + 3 * len(self.effects)

    def solve(self) -> tuple[F64, F64]:
        """Iterate Gauss–Newton; the fitted numbers are in units of their widths."""
        n = len(self.start)
        numbers = np.zeros((n, self.count))
        for _ in range(_ROUNDS):
            rows = np.repeat(numbers, self.count + 1, axis=0)
            moved = np.arange(self.count)
            rows.reshape(n, self.count + 1, self.count)[:, 1 + moved, moved] += _MOVED
            track = np.repeat(np.arange(n), self.count + 1)
            residuals = self._residuals(rows, track).reshape(n, self.count + 1, -1)
            slopes = (residuals[:, 1:] - residuals[:, :1]) / _MOVED
            curvature = slopes @ slopes.transpose(0, 2, 1)
            gradient = (slopes @ residuals[:, 0, :, None])[:, :, 0]
            numbers -= np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        covariance = np.linalg.inv(curvature)[:, :5, :5]
        return (
            self.start + numbers[:, :5] * self.widths,
            covariance * self.widths[:, :, None] * self.widths[:, None, :],
        )

    def _residuals(self, numbers: F64, track: NDArray[np.int64]) -> F64:
        """Return (rows, m): distances from hits over their errors, then all numbers but the state."""
        state = self.start[track] + numbers[:, :5] * self.widths[track]
        return np.column_stack([*self._walk(state, track, numbers[:, 5:]), numbers[:, 5:]])

    def _walk(self, state: F64, track: NDArray[np.int64] | None, moves: F64 | None = None) -> list[F64]:
        """Go from the beam line through all layers; return the hits' residuals.

        Without `moves`, note the effects of the material.
        """
        rows = np.arange(len(state)) if track is None else track
        state, z, residuals = state.copy(), self.z[rows].copy(), []
        passage = iter(range(0, 10**6, 3))

        def through(effects: Effects | None, where: Bool) -> None:
            if moves is None:
                assert effects is not None
                kept = Effects(*(np.where(where, values, 0.0) for values in vars(effects).values()))
                self.effects.append(kept)
            number = next(passage)
            own = Effects(*(values[rows] for values in vars(self.effects[number // 3]).values()))
            _scatter_and_slow(
                state, own, np.zeros((len(rows), 3)) if moves is None else moves[:, number : number + 3]
            )

        for tube, material in self.tubes:
            x, y, tx, ty = self.start[:, :4].T
            square = tx**2 + ty**2
            along = (x * tx + y * ty) / square
            at = self.z - along + np.sqrt(along**2 - (x**2 + y**2 - tube.radius**2) / square)
            crossed = (at < self.first_z) & (at > tube.z_min) & (at < tube.z_max)
            self._move(state, z, np.column_stack([at, 0 * at, 0 * at])[rows], crossed[rows])
            path = tube.thickness * np.sqrt(1.0 + square)
            effects = (
                self._of(state, material, path, self.knowledge.in_velo * VELO_CUT, 1.0)
                if moves is None
                else None
            )
            through(effects, crossed)
        for layer in self.layers:
            self._move(state, z, layer.plane[rows], layer.present[rows])
            for half in range(2):
                effects = self._of_layer(state, layer) if moves is None else None
                through(effects, self._thick(state, layer) if moves is None else layer.present)
                if half == 0 and layer.detector:
                    hit, slope, sigma = layer.x[rows], layer.dxdy[rows], np.sqrt(layer.variance[rows])
                    measured = layer.measured[rows]
                    if layer.y is None:
                        residuals.append(measured * (state[:, 0] - slope * state[:, 1] - hit) / sigma)
                    else:
                        residuals.append(measured * (state[:, 0] - hit) / sigma)
                        residuals.append(measured * (state[:, 1] - layer.y[rows]) / sigma)
        return residuals

    def _thick(self, state: F64, layer: Layer) -> Bool:
        covered = layer.present.copy()
        if layer.covers is not None:
            covered &= layer.covers(state[:, 0], state[:, 1])
        return covered

    def _of_layer(self, state: F64, layer: Layer) -> Effects:
        _, dzdx, dzdy = layer.plane.T
        tx, ty = state[:, 2], state[:, 3]
        normal = np.sqrt((1.0 + dzdx**2 + dzdy**2) * (1.0 + tx**2 + ty**2))
        path = layer.thickness * normal / np.abs(1.0 - dzdx * tx - dzdy * ty)
        velo = layer.detector == "velo"
        hard = VELO_CUT * self.knowledge.in_velo if velo else ANGLE_CUT * self.knowledge.behind
        return self._of(state, layer.material, path, hard, 0.5)

    def _of(self, state: F64, material, path: F64, hard: F64, share: float) -> Effects:
        momentum = 1.0 / np.abs(state[:, 4])
        cut = ENERGY_CUT * self.knowledge.error * momentum**2 / np.hypot(momentum, PION)
        return layer_effects(material, path, momentum, PION, hard=hard, cut=cut, share=share)

    def _move(self, state: F64, z: F64, plane: F64, where: Bool) -> None:
        chosen = np.flatnonzero(where)
        moved = propagate(
            self.field,
            self.polarity,
            state[chosen],
            z[chosen],
            tuple(plane[chosen].T),
            tolerance=_TOLERANCE,
            threads=1,
        )
        assert moved.ok.all()
        state[chosen], z[chosen] = moved.states, moved.z


def _scatter_and_slow(state: F64, effects: Effects, moves: F64) -> None:
    """Turn directions by two angles and change energies by the mean loss and a third number, in place."""
    tx, ty = state[:, 2], state[:, 3]
    direction = np.column_stack([tx, ty, np.ones_like(tx)]) / np.sqrt(1 + tx**2 + ty**2)[:, None]
    first = np.cross(direction, [0.0, 1.0, 0.0])
    first /= np.linalg.norm(first, axis=1)[:, None]
    angles = effects.angle[:, None] * moves[:, :2]
    turned = direction + angles[:, :1] * first + angles[:, 1:] * np.cross(direction, first)
    state[:, 2], state[:, 3] = turned[:, 0] / turned[:, 2], turned[:, 1] / turned[:, 2]
    energy = np.hypot(1.0 / state[:, 4], PION) - effects.loss - np.sqrt(effects.variance) * moves[:, 2]
    state[:, 4] = np.sign(state[:, 4]) / np.sqrt(energy**2 - PION**2)
