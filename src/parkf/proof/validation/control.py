"""Full fits of more events than a validation has, in the bin of momentum that has the fewest tracks.

The full fit has nothing to learn, so that events of a training show as well how good it is.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parkf.fit import fit_file_full
from parkf.fit.sample import Sample, load_sample
from parkf.fit.truth import Files
from parkf.io.arrow import numbers
from parkf.io.files import scratch_folder
from parkf.io.tables import CANDIDATES
from parkf.proof.validation.fitting import write_changed

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap
    from parkf.detector.geometry import Geometry

STIFF = 50.0  # GeV
_FOUND = 0.6  # the search's momentum of a stiff track is more than this fraction of the true one


def with_stiff_tracks(
    validation: Sequence[Files],
    more: Sequence[Files],
    *,
    geometry: "Geometry",
    field: "FieldMap",
    threads: int | None = None,
) -> tuple[Sample, int]:
    """Load full fits of the tracks from 50 GeV of a validation, and fit those of more events.

    Return the sample and the number of crossings in `more`, which has no fits.
    """
    crossings = 0
    with scratch_folder() as folder:
        stiff = []
        for number, sample in enumerate(more):
            chosen, fitted = (Path(folder) / f"{name}{number}.parquet" for name in ("chosen", "fitted"))
            write_changed(sample.candidates, chosen, _stiff)
            fit_file_full(chosen, fitted, geometry=geometry, field=field, threads=threads)
            stiff.append(replace(sample, candidates=chosen, fitted=fitted))
            crossings += len(np.unique(numbers(CANDIDATES.open(sample.candidates).read(["event"])["event"])))
        rows = load_sample([*validation, *stiff], field).rows
    return Sample(rows[np.asarray(rows["p_true"]) >= 1000 * STIFF]), crossings


def _stiff(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.less(pc.abs(rows["qop"]), 1e-3 / (_FOUND * STIFF)))
