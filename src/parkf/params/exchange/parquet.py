"""A set as a table with a row for each number, for users' own tools."""

from pathlib import Path

import numpy as np

from parkf.io.tables import Table
from parkf.params.description import slice_numbers, table_numbers
from parkf.params.manifest import numbers_in
from parkf.params.parameter_set import ParameterSet

NUMBERS = Table(
    "parameters",
    1,
    (
        ("block", np.dtype(np.str_)),
        ("set", np.dtype(np.str_)),  # for the magnet table, its bin; for slices, slice and node
        ("index", np.dtype(np.int32)),  # within the set
        ("name", np.dtype(np.str_)),
        ("unit", np.dtype(np.str_)),  # of value times scale
        ("scale", np.dtype(np.float64)),
        ("value", np.dtype(np.float32)),  # the blob's number
        ("error", np.dtype(np.float64)),  # null where no fit determined it, for the magnet table and slices
        ("parity", np.dtype(np.int8)),  # its sign under h → −h
    ),
)


def export_parquet(parameters: ParameterSet, path: Path) -> None:
    """Write all numbers of a set in the order of the blobs; its version and fingerprints are metadata."""
    import pyarrow as pa

    manifest = parameters.manifest
    constants, of_electrons = (
        [(*place, n.name, n.unit, n.scale, n.error, n.parity) for *place, n in numbers_in(layout)]
        for layout in (manifest.layout, manifest.electron.layout if manifest.electron else [])
    )
    # The coefficients multiply powers of f, which is odd in h.
    pieces = parameters.layout.pieces
    parity = [-1 if power % 2 else 1 for piece in pieces for power in range(1, piece.degree + 1)]
    coefficients = [
        (n.block, n.set, n.index, n.name, n.unit, 1.0, None, parity[n.index]) for n in table_numbers(pieces)
    ]
    # Each map multiplies h once.
    inside = [
        (n.block, n.set, n.index, n.name, n.unit, 1.0, None, -1)
        for n in (slice_numbers(parameters.slices.described) if parameters.slices else ())
    ]
    maps = [parameters.slices.maps.ravel()] if parameters.slices else []
    electron = [] if parameters.electron is None else [parameters.electron.astype(np.float32)]
    values = np.concatenate([parameters.constant, parameters.table.ravel(), *maps, *electron])
    rows = (*constants, *coefficients, *inside, *(of_electrons if electron else ()))
    block, label, index, name, unit, scale, error, sign = zip(*rows, strict=True)
    columns = (block, label, index, name, unit, scale, values, error, sign)
    made_with = {f"parkf.set.{name}": sha256 for name, sha256 in manifest.blobs.fingerprints().items()}
    with NUMBERS.writer(path, {"parkf.version": manifest.version or "", **made_with}) as writer:
        arrays = [pa.array(column, kind) for column, (_, kind) in zip(columns, NUMBERS.columns, strict=True)]
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=NUMBERS.schema))
