"""Check that hits of another simulation, or of the detector, lie on the elements of a geometry."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.errors import ParkfError

Floats = NDArray[np.float64]

DETECTORS = {"VELO": VELO_PLANES, "UT": UT_PLANES, "SciFi": SCIFI_PLANES}
_STEEPEST = 0.4  # slope; tracks of a hit close to the origin are no steeper
_COLUMNS = ("det", "layer", "x", "y", "z", "dxdy", "dzdy", "ymin", "ymax", "err")


@dataclass(frozen=True)
class Positions:
    """How far hits of one detector lie from where a geometry has its elements; each array is (n,) float64."""

    detector: str  # VELO, UT or SciFi
    # Distance of the hit (of a strip: of the end that is further away) from the surface of its piece, mm; in
    # a layer without pieces, from the layer.
    off: Floats
    beside: Floats  # distance beyond the edge of its piece, mm; negative within, NaN without pieces
    plane_off: Floats  # as `off`, from the layer or module as a whole, mm
    # Displacement of the hit in units of its error: `off` times the slope of a line from the origin.
    shifted: Floats
    plane_shifted: Floats  # the same with `plane_off`, as if only the planes were known, and not their pieces


def positions(hits: pd.DataFrame, geometry: Geometry) -> list[Positions]:
    """Compare hits with a geometry.

    The table has the columns of :mod:`parkf.imports.hits.full_simulation`, and, where it is known, `sensor`:
    LHCb's number of the VELO sensor, UT sector or SciFi mat. Without it, the piece is found from the hit's
    position. A missing column, or a sensor that is not in the hit's layer, raises a ParkfError.
    """
    missing = [name for name in _COLUMNS if name not in hits]
    if missing:
        raise ParkfError(f"hits: column '{missing[0]}' is missing; expected {', '.join(_COLUMNS)}")
    return [_of(name, hits[hits.det == name], geometry) for name in DETECTORS if (hits.det == name).any()]


def _of(detector: str, hits: pd.DataFrame, geometry: Geometry) -> Positions:
    off, beside, plane_off, slope = (np.full(len(hits), np.nan) for _ in range(4))
    for layer in np.unique(hits.layer).tolist():
        rows = np.flatnonzero(hits.layer == layer)
        here = hits.iloc[rows]
        plane = DETECTORS[detector][int(layer)]
        # Points (1, n, 3) of pixels, or ends (2, n, 3) of strips.
        if detector == "VELO":
            points = here[["x", "y", "z"]].to_numpy(np.float64)[None]
        else:
            ends = [(here.x + here.dxdy * y, y, here.z + here.dzdy * y) for y in (here.ymin, here.ymax)]
            points = np.stack([np.column_stack(end) for end in ends])
        z0, dzdx, dzdy = geometry.frames[plane].plane
        x, y, z = np.moveaxis(points, -1, 0)
        plane_off[rows] = np.abs(z - z0 - dzdx * x - dzdy * y).max(axis=0)
        across = np.hypot(x, y if detector == "VELO" else 0.0).mean(axis=0)
        slope[rows] = np.minimum(across / np.abs(z).mean(axis=0), _STEEPEST)
        pieces = geometry.pieces.get(plane)
        if pieces is None:
            off[rows] = plane_off[rows]
            continue
        if "sensor" in hits:
            number = here.sensor.to_numpy().astype(np.int64)
            index = np.searchsorted(pieces.numbers, number)
            known = pieces.numbers[np.minimum(index, len(pieces.numbers) - 1)] == number
            if not known.all():
                raise ParkfError(f"hits: sensor {number[~known][0]} is not in {detector} layer {int(layer)}")
        else:
            middle = points.mean(axis=0)
            index = pieces.at(middle[:, 0], middle[:, 1])
        away = points - pieces.origin[index]
        normal = np.cross(pieces.axis_u, pieces.axis_v)[index]
        off[rows] = np.abs((away * normal).sum(-1)).max(axis=0)
        u, v = ((away * axis[index]).sum(-1) for axis in (pieces.axis_u, pieces.axis_v))
        half = pieces.half_sizes[index]
        beside[rows] = np.maximum(np.abs(u) - half[:, 0], np.abs(v) - half[:, 1]).max(axis=0)
    error = hits.err.to_numpy()
    return Positions(detector, off, beside, plane_off, off * slope / error, plane_off * slope / error)
