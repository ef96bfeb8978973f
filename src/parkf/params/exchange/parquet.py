"""A set as a table with a row for each number, for users' own tools."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parkf.io.tables import Table
from parkf.model.layout import BINS, Piece
from parkf.params.manifest import Slices, numbers_in
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
    coefficients, slices = _of_table(parameters.layout.pieces), parameters.slices
    inside = _of_slices(slices.described) if slices else ()
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


def _of_table(pieces: Sequence[Piece]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the magnet table, without values: by bin in x, bin in y, coefficient."""
    columns = []
    for piece in pieces:
        name = piece.component + {"1": "00", "u_x": "10", "u_y": "01"}[piece.factor]
        unit = "mm" if piece.component in ("x", "y") else "rad"
        # The coefficients multiply powers of f, which is odd in h.
        columns += [(f"{name}[{n}]", unit, 1.0, None, -1 if n % 2 else 1) for n in range(1, piece.degree + 1)]
    for i, j in np.ndindex(*BINS):
        yield from (("UTT", f"bin {i},{j}", index, *column) for index, column in enumerate(columns))


def _of_slices(slices: Slices) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the steps inside the magnet, without values: by slice, node in x, node in y, map."""
    for k, i, j in np.ndindex(len(slices.centre), slices.nodes_x, slices.nodes_y):
        for index, name in enumerate(slices.maps):
            # Each map multiplies h once.
            yield "SLICES", f"slice {k}, node {i},{j}", index, name, "MeV/mm", 1.0, None, -1
