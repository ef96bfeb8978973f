"""The full fit in NumPy: the reference for the kernel, independent of it except for field and material.

A forward filter finds q/p and the trajectory. It runs a second time about that trajectory, and this run's χ²
counts. A backward filter then starts anew behind the last layer. When it reaches the first hit it has used
all hits, so its state there is the smoothed state.
"""

import os

import numpy as np
import pyarrow as pa
from full_gain import Estimate, changed_energy, on_plane
from full_layers import Layer, layers_of
from full_material import Effects, layer_effects
from numpy.typing import NDArray

from parkf.detector.description import Material
from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.detector.transport import propagate
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.fit.hits import from_arrow

F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

PION = 139.57039  # MeV; every track is fitted as a pion
TOLERANCE = 1e-3  # mm; of a Runge-Kutta step
SEED_WIDTH = 0.3  # relative width of the first q/p, the same as in the parameterised fit
_START = (10.0, 10.0, 0.3, 0.3)  # mm and rad; far wider than the errors from two VELO hits
_FORGET = 1e4  # factor on the forward filter's covariance where the backward filter starts
# The first filter's assumed errors: relative error of q/p, and errors of directions in rad over q/p.
SEED_ERROR, SEED_ANGLE = 0.005, 5.0
# Losses and scatterings beyond this many errors belong to the tails, and the fit's noise leaves them out.
ENERGY_CUT, ANGLE_CUT, VELO_CUT = 1.8, 1.9, 2.4 * np.sqrt(2.0)
_NOT_FINITE, _NEGATIVE, _NO_START, _NO_SCIFI, _WRONG_QOP = 1, 2, 16, 32, 1024  # bits of parkf.fit.STATUS
_DETECTORS = ("velo", "ut", "scifi")


def fit_full_reference(
    geometry: Geometry,
    field: FieldMap,
    candidates: pa.Table | pa.RecordBatch | Candidates,
    *,
    threads: int | None = None,
) -> Fitted:
    """Fit candidates with the full detector and field, in float64.

    Parameters
    ----------
    geometry : Geometry
        Planes and material that the fit assumes.
    field : FieldMap
    candidates : pyarrow.Table, pyarrow.RecordBatch or Candidates
        Rows of the table ``candidates``, or a batch in the kernel's layout.
    threads : int, optional
        Threads of the propagation; one for each core by default. The result does not depend on it.

    Raises
    ------
    ParkfError
        When a column is missing or wrong.
    """
    tracks = (
        candidates if isinstance(candidates, Candidates) else from_arrow(candidates, np.dtype(np.float64))
    )
    return FullReference(geometry, field, tracks, threads or os.cpu_count() or 1).run()


class FullReference:
    """Fit of one batch; `reference` is the local q/p (n,) about which everything is linearised."""

    def __init__(self, geometry: Geometry, field: FieldMap, tracks: Candidates, threads: int):
        self.geometry, self.field, self.threads = geometry, field, threads
        self.count = tracks.count
        self.polarity = tracks.polarity
        self.seed = tracks.qop.astype(np.float64)
        self.layers = layers_of(geometry, tracks)
        self.velo = [rows.T.astype(np.float64) for rows in tracks.velo]
        self.velo_n = tracks.velo_n
        self.alive = (self.velo_n > 1) & np.isfinite(self.seed) & (self.seed != 0.0)
        self.reference = np.where(self.alive, self.seed, 1.0)
        self.loss = np.zeros(self.count)
        # Errors of the previous filter: of q/p (relative), and of directions in the VELO and behind it.
        self.error = np.full(self.count, SEED_ERROR)
        self.in_velo = self.behind = SEED_ANGLE * np.abs(self.reference)

    def run(self) -> Fitted:
        """Filter forward twice and backward once, then go to the beam line."""
        self._forward()
        self.reference = self._at_first(self._forward_end)
        chi2 = self._forward()
        backward = self._forward_end
        self.reference = backward.state[:, 4].copy()
        backward.covariance *= _FORGET
        for layer in reversed(self.layers):
            self._visit(backward, layer, -1)
        self._to_beamline(backward)
        return self._fitted(backward, chi2)

    def _forward(self) -> dict[str, F64]:
        """Return χ² (n,) of each detector; keep the estimate behind the last layer in `_forward_end`."""
        estimate = self._start()
        chi2 = {name: np.zeros(self.count) for name in _DETECTORS}
        self.loss[:] = 0.0
        start = estimate.state[:, 2].copy()
        knows_velo = False
        for layer in self.layers:
            if layer.detector != "velo" and not knows_velo:
                knows_velo = True
                self.in_velo = np.sqrt((estimate.covariance[:, 2, 2] + estimate.covariance[:, 3, 3]) / 2)
            more = self._visit(estimate, layer, +1)
            if layer.detector:
                chi2[layer.detector] += more
        self.error = np.sqrt(estimate.covariance[:, 4, 4]) / np.abs(estimate.state[:, 4])
        self.behind = self.error * np.abs(estimate.state[:, 2] - start)
        self._forward_end = estimate
        return chi2

    def _start(self) -> Estimate:
        """Start at the first hit, with covariances so wide that hardly anything is assumed."""
        x, y, z = self.velo
        last, rows = np.maximum(self.velo_n - 1, 0), np.arange(self.count)
        dz = np.where(self.alive, z[last, rows] - z[0], 1.0)
        self.alive &= dz > 0.0
        dz = np.where(dz > 0.0, dz, 1.0)
        slopes = [np.where(self.alive, c[last, rows] - c[0], 0.0) / dz for c in (x, y)]
        first = [np.where(self.alive, c[0], 0.0) for c in (x, y, z)]
        state = np.column_stack([first[0], first[1], *slopes, self.reference])
        covariance = np.zeros((self.count, 5, 5))
        for i, width in enumerate(_START):
            covariance[:, i, i] = width**2
        covariance[:, 4, 4] = (SEED_WIDTH * self.seed) ** 2
        return Estimate(state, covariance, first[2], _upright(first[2]))

    def _at_first(self, end: Estimate) -> F64:
        """Return q/p at the first hit, from q/p behind the last layer."""
        qop, _ = changed_energy(np.where(self.alive, end.state[:, 4], 1.0), -self.loss, PION)
        return qop

    def _visit(self, estimate: Estimate, layer: Layer, direction: int) -> F64:
        """Go to a layer and filter its hit between the two halves of its material; return χ² (n,)."""
        self._move(estimate, layer.plane, layer.present)
        here = layer.present & self.alive
        self._traverse(estimate, layer, here, direction)
        measured = layer.measured & here
        slope = None if layer.y is not None else layer.dxdy
        chi2 = estimate.measure(layer.x, slope, 0, layer.variance, measured)
        if layer.y is not None:
            chi2 += estimate.measure(layer.y, None, 1, layer.variance, measured)
        self._traverse(estimate, layer, here, direction)
        return chi2

    def _conditional(self, estimate: Estimate) -> F64:
        """Return the states (n, 5) that are expected if q/p is the reference.

        A filter that has not seen both sides of the magnet measures q/p poorly. The point of linearisation
        must not follow that q/p.
        """
        covariance = estimate.covariance
        share = (self.reference - estimate.state[:, 4]) / covariance[:, 4, 4]
        return estimate.state + covariance[:, :, 4] * share[:, None]

    def _move(self, estimate: Estimate, plane: F64, present: Bool) -> None:
        """Propagate states and covariances; a track whose propagation fails is no longer fitted."""
        at = self._conditional(estimate)
        leaning = estimate.plane
        for polarity in np.unique(self.polarity):
            rows = np.flatnonzero(present & self.alive & (self.polarity == polarity))
            moved = propagate(
                self.field,
                int(polarity),
                at[rows],
                estimate.z[rows],
                tuple(plane[rows].T),
                tolerance=TOLERANCE,
                jacobian=True,
                threads=self.threads,
            )
            self.alive[rows[~moved.ok]] = False
            rows, ends, z = rows[moved.ok], moved.states[moved.ok], moved.z[moved.ok]
            assert moved.jacobian is not None
            f = moved.jacobian[moved.ok] @ on_plane(at[rows], leaning[rows])
            difference = estimate.state[rows] - at[rows]
            estimate.state[rows] = ends + (f @ difference[:, :, None])[:, :, 0]
            estimate.covariance[rows] = f @ estimate.covariance[rows] @ f.transpose(0, 2, 1)
            estimate.z[rows] = z
            estimate.plane[rows] = plane[rows]

    def _traverse(self, estimate: Estimate, layer: Layer, here: Bool, direction: int) -> None:
        """Add the scattering and energy loss in one half of a layer; going backward, energy is gained."""
        at = self._conditional(estimate)
        tx, ty = at[:, 2], at[:, 3]
        thick = here.copy()
        if layer.covers is not None:
            thick[here] = layer.covers(at[here, 0], at[here, 1])
        _, dzdx, dzdy = layer.plane.T
        normal = np.sqrt(1.0 + dzdx**2 + dzdy**2)
        path = layer.thickness * np.sqrt(1.0 + tx**2 + ty**2) * normal / np.abs(1.0 - dzdx * tx - dzdy * ty)
        hard = VELO_CUT * self.in_velo if layer.detector == "velo" else ANGLE_CUT * self.behind
        self._apply(estimate, self._effects(layer.material, path, hard, 0.5), direction, thick)

    def _effects(self, material: Material, path: F64, hard: F64, share: float) -> Effects:
        momentum = 1.0 / np.abs(self.reference)
        cut = ENERGY_CUT * self.error * momentum**2 / np.hypot(momentum, PION)
        return layer_effects(material, path, momentum, PION, hard=hard, cut=cut, share=share)

    def _apply(self, estimate: Estimate, effects: Effects, direction: int, where: Bool) -> None:
        estimate.scatter(effects.angle, where)
        beta2 = 1.0 / (1.0 + (PION * self.reference) ** 2)
        loss = direction * effects.loss
        reference, derivative = changed_energy(self.reference, np.where(where, loss, 0.0), PION)
        estimate.state[:, 4] = reference + derivative * (estimate.state[:, 4] - self.reference)
        estimate.covariance[:, 4, :] *= derivative[:, None]
        estimate.covariance[:, :, 4] *= derivative[:, None]
        # ∂(q/p)/∂E = −(q/p) E/p²
        straggling = reference**4 / beta2 * effects.variance
        estimate.covariance[:, 4, 4] += np.where(where, straggling, 0.0)
        self.reference = reference
        self.loss += np.where(where, loss, 0.0)

    def _to_beamline(self, estimate: Estimate) -> None:
        """Go from the first hit through the walls around the beam to the closest approach to its line."""
        everywhere = np.ones(self.count, bool)
        for tube in self.geometry.description.tubes:
            x, y, tx, ty = estimate.state[:, :4].T
            with np.errstate(invalid="ignore", divide="ignore"):
                along = (x * tx + y * ty) / (tx**2 + ty**2)
                rest = (x**2 + y**2 - tube.radius**2) / (tx**2 + ty**2)
                # The point where the track left the tube, upstream of the state.
                z = estimate.z - along + np.sqrt(along**2 - rest)
                crossed = self.alive & (z < estimate.z) & (z > tube.z_min) & (z < tube.z_max)
            self._move(estimate, _upright(np.where(crossed, z, 0.0)), crossed)
            crossed &= self.alive
            path = tube.thickness * np.sqrt(1.0 + (estimate.state[:, 2:4] ** 2).sum(1))
            material = self.geometry.description.materials[tube.material]
            effects = self._effects(material, path, VELO_CUT * self.in_velo, 1.0)
            self._apply(estimate, effects, -1, crossed)
        beam = self.geometry.beam
        x, y, tx, ty = estimate.state[:, :4].T
        with np.errstate(invalid="ignore", divide="ignore"):
            dz = ((beam.x - x) * tx + (beam.y - y) * ty) / (tx**2 + ty**2)
        self.alive &= np.isfinite(dz)
        self._move(estimate, _upright(np.where(self.alive, estimate.z + dz, 0.0)), everywhere)

    def _fitted(self, estimate: Estimate, chi2: dict[str, F64]) -> Fitted:
        hits = {name: np.zeros(self.count, np.int32) for name in _DETECTORS}
        for layer in self.layers:
            if layer.detector:
                hits[layer.detector] += layer.measured * (2 if layer.y is not None else 1)
        # q/p is a fifth unknown. The first detector behind the VELO measures it and has one ndof less.
        no_ut, no_scifi = hits["ut"] == 0, hits["scifi"] == 0
        ndof = {
            "ndof_velo": np.maximum(hits["velo"] - 4, 0),
            "ndof_ut": np.where(no_ut, 0, hits["ut"] - 1),
            "ndof_scifi": np.where(no_ut & ~no_scifi, hits["scifi"] - 1, hits["scifi"]),
        }
        estimate.state[~self.alive] = np.nan
        c, names = estimate.covariance, ("x", "y", "tx", "ty", "qop")
        variances = np.stack([c[:, i, i] for i in range(5)])
        status = np.where(self.alive & np.isfinite(estimate.state).all(1), 0, _NOT_FINITE)
        status |= np.where((variances > 0).all(0) | (status > 0), 0, _NEGATIVE)
        status |= np.where(self.velo_n < 2, _NO_START, 0) | np.where(no_scifi, _NO_SCIFI, 0)
        status |= np.where(np.isfinite(self.seed) & (self.seed != 0), 0, _WRONG_QOP)
        numbers = {
            "z": estimate.z,
            **dict(zip(names, estimate.state.T, strict=True)),
            **{a + b: c[:, i, j] for (a, i), (b, j) in _PUBLISHED},
            **{f"chi2_{name}": chi2[name] for name in _DETECTORS},
        }
        integers = {name: values.astype(np.int32) for name, values in (ndof | {"status": status}).items()}
        return Fitted(**numbers, **integers)


_PUBLISHED = (
    (("x", 0), ("x", 0)),
    (("x", 0), ("tx", 2)),
    (("tx", 2), ("tx", 2)),
    (("y", 1), ("y", 1)),
    (("y", 1), ("ty", 3)),
    (("ty", 3), ("ty", 3)),
    (("qop", 4), ("qop", 4)),
)


def _upright(z: F64) -> F64:
    zero = np.zeros_like(z)
    return np.column_stack([z, zero, zero])
