"""ACTS (https://acts.readthedocs.io) on this project's field map: an independent propagator to compare with.

Like ours, its field look-up is trilinear and its stepper an adaptive fourth-order Runge-Kutta-Nystrom, but
the code is independent. Lengths are in mm on both sides; ACTS has momenta in GeV.
"""

from pathlib import Path

import acts
import numpy as np

from parkf.detector.field import FieldMap

_GEV = 1000.0
_HALF_WIDTH = 2e4  # mm, of target planes; larger than any map


def acts_field(field: FieldMap, folder: Path, *, lower: np.ndarray, upper: np.ndarray):
    """Pass a part of a MagDown map to ACTS, through the text file that ACTS reads.

    Parameters
    ----------
    field : FieldMap
        With linear interpolation.
    folder : Path
        Where the text file is written.
    lower, upper : (3,) float
        Corners of the part, mm, on nodes; reading takes 10 microseconds for each node.
    """
    first, last = (
        np.rint((np.asarray(c) - field.origin) / field.spacing).astype(int) for c in (lower, upper)
    )
    part = tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))
    nodes = np.stack(np.meshgrid(*map(np.arange, field.values.shape[:3]), indexing="ij"), axis=-1)[part]
    rows = np.concatenate([field.origin + field.spacing * nodes, field.values[part]], axis=-1)
    path = folder / "field.txt"
    np.savetxt(path, rows.reshape(-1, 6), fmt="%.9g")
    return acts.MagneticFieldMapXyz(str(path), lengthUnit=1.0, bFieldUnit=acts.UnitConstants.T)


def look_up(field, points: np.ndarray) -> np.ndarray:
    """Field (n, 3) in T at points (n, 3) in mm."""
    cache = field.makeCache(acts.MagneticFieldContext())
    found = [field.getField(acts.Vector3(*point), cache) for point in points]
    return np.array([[value[i] for i in range(3)] for value in found]) / acts.UnitConstants.T


class Propagator:
    """ACTS's propagator without a detector.

    Parameters
    ----------
    field
        From :func:`acts_field`.
    stops : (n,) float
        Where tracks halt on their way, mm, ascending; they end at the last. No step goes beyond the next
        stop.
    """

    def __init__(self, field, stops: np.ndarray) -> None:
        navigator = acts.VoidNavigator()
        self._run = acts.EigenVoidPropagator(acts.EigenStepper(field), navigator, acts.logging.FATAL)
        context = acts.GeometryContext.dangerouslyDefaultConstruct()
        self._options = acts.PropagatorPlainOptions(context, acts.MagneticFieldContext())
        # With the default tolerance, a path ends up to 1e-4 mm short of each stop, and bends less by that
        # length.
        self._options.surfaceTolerance = 1e-7
        bounds = acts.RectangleBounds(_HALF_WIDTH, _HALF_WIDTH)
        self._planes = [
            acts.Surface.createPlane(acts.Transform3(acts.Vector3(0, 0, z)), bounds) for z in stops
        ]

    def __call__(self, states: np.ndarray, z: float) -> np.ndarray:
        """Carry our states (n, 5) from `z` through all stops; NaN where the path leaves the map."""
        return np.array([self._one(state, z) for state in states])

    def _one(self, state: np.ndarray, z: float) -> np.ndarray:
        x, y, tx, ty, qop = state
        direction = np.array([tx, ty, 1.0]) / np.sqrt(1 + tx * tx + ty * ty)
        track = acts.BoundTrackParameters.createCurvilinear(
            acts.Vector4(x, y, z, 0), acts.Vector3(*direction), qop * _GEV, None, acts.ParticleHypothesis.pion
        )
        try:
            for plane in self._planes:
                track = self._run.propagateToSurface(track, plane, self._options)
        except RuntimeError:
            return np.full(5, np.nan)
        end, momentum = track.parameters, track.momentum
        return np.array([end[0], end[1], momentum[0] / momentum[2], momentum[1] / momentum[2], end[4] / _GEV])
