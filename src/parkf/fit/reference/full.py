"""The full fit: Runge–Kutta through the field, every layer of material, energy loss, smoothing.

A forward filter finds q/p and the trajectory. It runs once more, linearised about that trajectory, for the
χ². A backward filter starts anew behind the last layer and has used all hits when it has passed the first
layer: its state there is the smoothed one. All of it runs in the kernel's folder ``full_fit``, several tracks
at a time.
"""

import os
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf import _full_fit
from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport.surfaces import compiled_detector
from parkf.fit.candidates import Candidates, from_arrow
from parkf.fit.fitted import Fitted


def fit_full(
    geometry: Geometry,
    field: FieldMap,
    candidates: pa.Table | pa.RecordBatch | Candidates,
    *,
    threads: int | None = None,
    build: str = "",
) -> Fitted:
    """Fit candidates with the full description of detector and field, in float64.

    Every track is taken for a pion. The result depends neither on the other candidates nor on the threads.

    Parameters
    ----------
    geometry : Geometry
        Planes and material as they are believed to be.
    field : FieldMap
    candidates : pyarrow.Table, pyarrow.RecordBatch or Candidates
        Rows of the table ``candidates``, or a batch in the kernel's layout.
    threads : int, optional
        As many as cores by default.
    build : str
        Of the kernel, one of those that ``_full_fit.builds()`` names; by default the fastest one. All give
        the same bits.

    Raises
    ------
    ParkfError
        When a column is missing or wrong.
    """
    tracks = (
        candidates if isinstance(candidates, Candidates) else from_arrow(candidates, np.dtype(np.float64))
    )

    def doubles(rows: NDArray[Any]) -> NDArray[np.float64]:
        return np.ascontiguousarray(rows, dtype=np.float64)

    numbers, integers = _full_fit.fit(
        field.for_polarity(-1),
        compiled_detector(geometry),
        ut_plane=UT_PLANES.start,
        scifi_plane=SCIFI_PLANES.start,
        velo_sigma=geometry.velo.resolution,
        beam_x=geometry.beam.x,
        beam_y=geometry.beam.y,
        polarity=doubles(tracks.polarity),
        qop=doubles(tracks.qop),
        velo_n=np.ascontiguousarray(tracks.velo_n),
        velo=[doubles(rows) for rows in tracks.velo],
        ut=[doubles(rows) for rows in tracks.ut],
        scifi=[doubles(rows) for rows in tracks.scifi],
        build=build,
        threads=threads or os.cpu_count() or 1,
    )
    return Fitted.from_kernel(numbers, integers).flagged(tracks.nulls, "null_number")
