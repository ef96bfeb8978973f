"""The full fit: Runge–Kutta through the field, every layer of material, energy loss, smoothing.

A forward filter finds q/p and the trajectory. It runs once more, linearised about that trajectory, for the
χ². A backward filter starts again behind the last layer. When it has passed the first layer, it has used all
hits, so its state there is the smoothed one. The code is in the kernel's folder ``full_fit``; it fits several
tracks at a time.
"""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import parkf._full_fit as _full_fit
from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport.surfaces import compiled_detector
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import NUMBERS, Fitted
from parkf.fit.hits import as_candidates
from parkf.io.kinds import LONG, Kind
from parkf.io.tables import BEHIND_VELO

if TYPE_CHECKING:
    import pyarrow as pa


def fit_full(
    geometry: Geometry,
    field: FieldMap,
    candidates: "pa.Table | pa.RecordBatch | Candidates",
    *,
    kind: Kind = LONG,
    errors: bool = True,
    threads: int | None = None,
    build: str = "",
) -> Fitted:
    """Fit candidates of a kind with the full description of detector and field, in float64.

    Every track is fitted as a pion. Geometry and field are those that the reconstruction assumes. Without
    `errors`, tracks with VELO hits take less time, but have no good χ² and covariance; q/p of long tracks
    changes by 1e-5 of itself at 2 GeV, and less above. `threads` is by default the number of cores; `build`
    is one of ``_full_fit.builds()``, by default the fastest. The result does not depend on `threads`, `build`
    or the other candidates.
    """
    tracks = as_candidates(candidates, np.float64)

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
        kind=kind.name,
        errors=errors,
        build=build,
        threads=threads or os.cpu_count() or 1,
    )
    count = len(NUMBERS) if kind.velo else len(numbers)
    more = () if kind.velo else dict(BEHIND_VELO)
    return Fitted.from_kernel(numbers[:count], integers, more).flagged(tracks.nulls, "null_number")
