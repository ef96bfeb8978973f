"""Converts candidates for the C++ example, and the fitted tracks that it writes.

python tracks.py write CANDIDATES.parquet TRACKS.bin
python tracks.py read FITTED.bin CANDIDATES.parquet FITTED.parquet
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from parkf.fit.fitted import INTEGERS, NUMBERS, Fitted
from parkf.fit.hits import from_arrow
from parkf.io.files import replacing
from parkf.io.tables import BEHIND_VELO, CANDIDATES, ELECTRON, FITTED

# The number of tracks in the header's arrays is filled up to a multiple of this.
TOGETHER = 16


def stride_of(count: int) -> int:
    """Return the length of the header's arrays."""
    return -(-count // TOGETHER) * TOGETHER


def write(candidates: Path, tracks: Path) -> None:
    """Write all candidates of a file as plain arrays."""
    with CANDIDATES.open(candidates) as file:
        batch = from_arrow(file.read(), np.float32)

    def filled_up(array: np.ndarray, filling: float) -> np.ndarray:
        result = np.full(
            (*array.shape[:-1], stride_of(batch.count)), filling, dtype=array.dtype.newbyteorder("<")
        )
        result[..., : batch.count] = array
        return result

    arrays = [filled_up(batch.polarity, 1), filled_up(batch.qop, np.nan), filled_up(batch.velo_n, 0)]
    for hits in (batch.velo, batch.ut, batch.scifi):
        arrays.append(filled_up(np.stack([rows.T for rows in hits]), np.nan))
    with replacing(tracks) as temporary, temporary.open("wb") as stream:
        stream.write(np.array([batch.count], dtype="<i4").tobytes())
        for array in arrays:
            stream.write(array.tobytes())


def read(fitted: Path, candidates: Path, output: Path) -> None:
    """Convert fitted tracks from plain arrays to the table that `parkf fit` writes."""
    with CANDIDATES.open(candidates) as file:
        names = file.read(columns=["event", "candidate"]).combine_chunks()
    words = np.fromfile(fitted, dtype="<i4").reshape(-1, stride_of(len(names)))[:, : len(names)]
    numbers, integers = words[: -len(INTEGERS)].view("<f4"), words[-len(INTEGERS) :]
    tracks = Fitted.from_kernel(numbers[: len(NUMBERS)], integers)
    columns = {name: names.column(name).to_numpy() for name in ("event", "candidate")}
    columns |= {name: getattr(tracks, name) for name in (*NUMBERS, *INTEGERS)}
    more = {0: (), len(BEHIND_VELO): BEHIND_VELO, len(ELECTRON): ELECTRON}[len(numbers) - len(NUMBERS)]
    table = FITTED.with_columns(more)
    arrays = [pa.array(columns[field.name], field.type) for field in FITTED.schema]
    arrays += map(pa.array, numbers[len(NUMBERS) :])
    with table.writer(output) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=table.schema))


if __name__ == "__main__":
    command, *paths = sys.argv[1:] or ["help"]
    if (command, len(paths)) not in (("write", 2), ("read", 3)):
        sys.exit(__doc__)
    {"write": write, "read": read}[command](*map(Path, paths))
