"""Long tracks without UT hits: the candidates of the validation, fitted again without theirs.

The steps across the UT are those of all long tracks, since a fit leaves out what was not measured. The full
fit of the same hits is what they are compared with.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from parkf.fit.truth import Files
from parkf.io.files import scratch_folder
from parkf.io.kinds import LONG
from parkf.proof.validation.fitting import write_changed
from parkf.proof.validation.kinds import compared, fitted_by_both

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap
    from parkf.detector.geometry import Geometry

_UT = ("ut_x", "ut_z", "ut_dxdy", "ut_sigma")


def measure_without_ut(
    parameters: Path,
    samples: Sequence[tuple[Path, Path]],
    *,
    geometry: "Geometry",
    field: "FieldMap",
    threads: int | None = None,
) -> dict[str, Any]:
    """Fit candidates without their UT hits, by a set and by the full fit.

    `samples` are files of particles and of their candidates. Return the figures of
    :func:`parkf.proof.validation.kinds.compared`.
    """
    with scratch_folder() as folder:
        stripped = []
        for number, (particles, candidates) in enumerate(samples):
            path = Path(folder) / f"candidates{number}.parquet"
            write_changed(candidates, path, _without_ut)
            stripped.append(Files(particles, path))
        both = fitted_by_both(LONG, parameters, stripped, geometry=geometry, field=field, threads=threads)
    return compared(*both)


def _without_ut(rows: pa.Table) -> pa.Table:
    """Return candidates without their UT hits."""
    for name in _UT:
        place = rows.schema.get_field_index(name)
        field = rows.schema.field(place)
        nothing = pa.array(np.full(len(rows) * field.type.list_size, np.nan, np.float32))
        rows = rows.set_column(place, field, pa.FixedSizeListArray.from_arrays(nothing, type=field.type))
    return rows
