"""Schemas of the Parquet tables that the commands hand to each other, and their checked reading.

Units: mm, rad, MeV, 1/MeV, elementary charges. A table carries its schema's name and version in the file's
metadata; a reader refuses another one. Columns that hold several hits are fixed-size lists padded with NaN.

A file's row groups have so many rows as its table says, whatever pieces it was written in: its bytes depend
on its rows alone, and readers and writers hold one row group in memory, not the file.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parkf.io.arrow import column
from parkf.io.checksums import CheckedFile, seal
from parkf.io.errors import ParkfError
from parkf.io.files import existing, replacing
from parkf.io.planes import RICH_PLANES, SCIFI_LAYERS, UT_LAYERS, VELO_MODULES

VELO_SLOTS = VELO_MODULES // 2  # a track crosses one half of the VELO


def _hits(slots: int) -> pa.DataType:
    return pa.list_(pa.float32(), slots)


class RowGroupWriter:
    """Writes rows that come in pieces of any length in row groups of one length.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetWriter
        Takes the row groups.
    length : int
        Rows in a row group; the last before a :meth:`flush` may have fewer.
    """

    def __init__(self, file: pq.ParquetWriter, length: int) -> None:
        self._file = file
        self._length = length
        self._pending: list[pa.Table] = []
        self._count = 0

    def write_table(self, rows: pa.Table) -> None:
        """Add rows."""
        self._pending.append(rows)
        self._count += rows.num_rows
        if self._count >= self._length:
            waiting = pa.concat_tables(self._pending)
            whole = self._count - self._count % self._length
            for begin in range(0, whole, self._length):
                self._write(waiting.slice(begin, self._length))
            # A copy: a slice would keep all of the rows in memory.
            rest = waiting.slice(whole)
            self._pending, self._count = (
                [rest.take(column(np.arange(rest.num_rows), pa.int64()))],
                rest.num_rows,
            )

    def write_batch(self, rows: pa.RecordBatch) -> None:
        """Add rows."""
        self.write_table(pa.Table.from_batches([rows]))

    def flush(self) -> None:
        """Write the rows that wait, so that the next begin a row group."""
        if self._count:
            self._write(pa.concat_tables(self._pending))
        self._pending, self._count = [], 0

    def _write(self, rows: pa.Table) -> None:
        # In one piece: where pages end must not depend on how the rows came.
        self._file.write_table(rows.combine_chunks(), row_group_size=self._length)


@dataclass(frozen=True)
class Table:
    """A named, versioned Parquet schema, and how many rows a row group of its files has."""

    name: str
    version: int
    columns: tuple[tuple[str, pa.DataType], ...]
    rows_in_group: int = 1 << 15

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema with name and version in its metadata."""
        return pa.schema(list(self.columns), metadata={"parkf.table": f"{self.name} {self.version}"})

    @property
    def content(self) -> str:
        """Name, version and columns in one line: what a file of this table depends on, whatever writes it."""
        columns = (f"{name} {kind}" for name, kind in self.columns)
        return f"{self.name} {self.version}: {', '.join(columns)}"

    def with_columns(self, columns: tuple[tuple[str, pa.DataType], ...]) -> "Table":
        """Return the table with more columns, which readers of this one pass over."""
        return replace(self, columns=self.columns + columns)

    @contextmanager
    def writer(self, path: Path, made_with: Mapping[str, str] | None = None) -> Iterator[RowGroupWriter]:
        """Open a chunked writer; the file appears under its name when the block succeeds.

        Parameters
        ----------
        path : Path
        made_with : mapping of str to str, optional
            Goes into the file's metadata.
        """
        metadata = {**self.schema.metadata, **(made_with or {})}
        schema = self.schema.with_metadata(metadata)
        # Floating-point numbers rarely repeat: their bytes, sorted by significance, take less room and time.
        split = [name for name, kind in self.columns if pa.types.is_floating(_element(kind))]
        with replacing(path) as temporary:
            with pq.ParquetWriter(
                temporary,
                schema,
                compression="zstd",
                use_dictionary=[name for name, _ in self.columns if name not in split],
                use_byte_stream_split=[_leaf(schema.field(name)) for name in split],
                write_page_checksum=True,
            ) as file:
                writer = RowGroupWriter(file, self.rows_in_group)
                yield writer
                writer.flush()
            seal(temporary)

    def open(self, path: Path) -> pq.ParquetFile:
        """Open a file of this table for chunked reading.

        Raises
        ------
        ParkfError
            When the file is missing, damaged, no Parquet, of another table or version, or lacks a column.
        """
        file = CheckedFile(existing(path))
        got = (file.schema_arrow.metadata or {}).get(b"parkf.table", b"(no name)").decode(errors="replace")
        if got != f"{self.name} {self.version}":
            raise ParkfError(f"{path}: table '{got}', expected '{self.name} {self.version}'")
        for name, kind in self.columns:
            index = file.schema_arrow.get_field_index(name)
            if index < 0:
                raise ParkfError(f"{path}: column '{name}' is missing")
            if file.schema_arrow.field(index).type != kind:
                raise ParkfError(
                    f"{path}: column '{name}' has type {file.schema_arrow.field(index).type}, expected {kind}"
                )
        return file


def _element(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_fixed_size_list(kind) else kind


def _leaf(field: pa.Field) -> str:
    """Path of a column's numbers inside the file."""
    return f"{field.name}.list.element" if pa.types.is_fixed_size_list(field.type) else field.name


_STATE = ("x", "y", "tx", "ty")
# The footer's entry for each row group, some 2 kB a column, stays in the memory of readers and writers. Long
# tables therefore have longer row groups.
_LONG_GROUP = 1 << 17

PARTICLES = Table(
    "particles",
    1,
    (
        ("event", pa.int32()),
        ("particle", pa.int32()),  # counts from 0 in each event
        ("collision", pa.int16()),  # pp collision of the event that it stems from
        ("pdg_id", pa.int32()),
        ("mother", pa.int32()),  # PDG id of the mother, 0 if none
        ("charge", pa.int8()),
        ("mass", pa.float64()),
        ("x", pa.float64()),  # production vertex
        ("y", pa.float64()),
        ("z", pa.float64()),
        ("px", pa.float64()),
        ("py", pa.float64()),
        ("pz", pa.float64()),
        ("z_end", pa.float64()),  # where it decays or interacts, infinite if it does neither
    ),
)

STATES = Table(
    "states",
    1,
    (
        ("event", pa.int32()),
        ("particle", pa.int32()),
        ("plane", pa.int16()),  # parkf.detector.geometry says which number is which plane
        ("active", pa.bool_()),  # inside the sensitive area
        ("z", pa.float64()),
        *((name, pa.float64()) for name in _STATE),
        ("p", pa.float64()),  # momentum here, after the energy loss so far
        ("polarity", pa.int8()),
    ),
    rows_in_group=_LONG_GROUP,
)

FATES = Table(
    "fates",
    1,
    (
        ("event", pa.int32()),
        ("particle", pa.int32()),  # of those that reach a plane
        (
            "hardest",
            pa.float32(),
        ),  # its largest scattering in one layer: space angle over its projection's width
    ),
)

HITS = Table(
    "hits",
    1,
    (
        ("event", pa.int32()),
        ("plane", pa.int16()),
        ("particle", pa.int32()),  # -1: noise
        ("x", pa.float64()),  # VELO: the point; UT and SciFi: the strip's x at y = 0
        ("y", pa.float64()),  # VELO: the point; else the strip's middle
        ("z", pa.float64()),  # VELO: the point; else z at y = 0
        ("dxdy", pa.float64()),
        ("dzdy", pa.float64()),
        ("sigma", pa.float64()),
    ),
    rows_in_group=_LONG_GROUP,
)

# UT and SciFi have one hit a layer: whoever makes candidates chooses between two. The embedded pattern
# recognition takes the one nearer to where the other hits say. A VELO module may give two, of the same
# z: both count.
CANDIDATES = Table(
    "candidates",
    1,
    (
        ("event", pa.int32()),
        ("candidate", pa.int32()),
        ("polarity", pa.int8()),
        ("qop", pa.float32()),  # the pattern recognition's estimate
        ("velo_n", pa.int32()),
        ("velo_x", _hits(VELO_SLOTS)),  # ascending z
        ("velo_y", _hits(VELO_SLOTS)),
        ("velo_z", _hits(VELO_SLOTS)),
        ("ut_x", _hits(UT_LAYERS)),  # x of the strip at y = 0; NaN: no hit in this layer
        ("ut_z", _hits(UT_LAYERS)),
        ("ut_dxdy", _hits(UT_LAYERS)),
        ("ut_sigma", _hits(UT_LAYERS)),
        ("scifi_x", _hits(SCIFI_LAYERS)),
        ("scifi_z", _hits(SCIFI_LAYERS)),  # at y = 0
        ("scifi_dxdy", _hits(SCIFI_LAYERS)),
        ("scifi_sigma", _hits(SCIFI_LAYERS)),
        ("particle", pa.int32()),  # the one with most hits, -1 if noise
        ("purity", pa.float32()),  # its share of the hits; below 0.7 the candidate is a ghost
    ),
    rows_in_group=1 << 13,
)

# What the parameters are closed with (parkf.training.closure): candidates by truth beside the full fit of
# their hits.
CLOSURE_TRACKS = Table(
    "closure-tracks",
    1,
    (
        *CANDIDATES.columns,
        *((f"{name}_in", pa.float64()) for name in _STATE),  # truth at z_in
        *((name, pa.float64()) for name in ("true_tx", "true_ty", "true_qop")),  # at production
        ("loss", pa.list_(pa.float32(), SCIFI_LAYERS)),  # momentum lost from there to each SciFi layer
        ("full_qop", pa.float64()),
        ("full_status", pa.int32()),
    ),
    rows_in_group=CANDIDATES.rows_in_group,
)

STEP_DATA = Table(
    "step-data",
    1,
    (
        ("event", pa.int32()),
        ("particle", pa.int32()),
        ("pdg_id", pa.int32()),
        ("charge", pa.int8()),
        ("polarity", pa.int8()),
        ("set", pa.int16()),  # which parameter set of the step: gap, direction, sign of y
        ("qop", pa.float64()),  # at production
        ("z0", pa.float64()),
        *((f"{name}0", pa.float64()) for name in _STATE),
        ("z1", pa.float64()),
        *((f"{name}1", pa.float64()) for name in _STATE),  # truth at the target
        *((f"{name}e", pa.float64()) for name in _STATE),  # Runge-Kutta from the origin, no scattering
        ("p_true", pa.float64()),  # momentum at the origin
    ),
)

FITTED = Table(
    "fitted",
    1,
    (
        ("event", pa.int32()),
        ("candidate", pa.int32()),
        ("z", pa.float32()),
        *((name, pa.float32()) for name in _STATE),
        ("qop", pa.float32()),
        *((name, pa.float32()) for name in ("xx", "xtx", "txtx", "yy", "yty", "tyty", "qopqop")),
        *((f"chi2_{name}", pa.float32()) for name in ("velo", "ut", "scifi")),
        *((f"ndof_{name}", pa.int32()) for name in ("velo", "ut", "scifi")),
        # 0: good, else a sum of bits, which parkf.fit.explain_status puts into words:
        # 1 non_finite, 2 negative_variance, 4 outside_table, 8 low_momentum, 16 few_velo_hits,
        # 32 no_scifi_hit; of what came in: 64 wrong_sigma, 128 wrong_plane, 256 velo_unsorted,
        # 512 velo_count, 1024 wrong_qop, 2048 null_number.
        ("status", pa.int32()),
    ),
)

# What the fit adds to `fitted` when it is asked to.
REMOVED_HITS = (("removed", pa.int64()),)  # bits: VELO slots 0–25, UT layers 26–29, SciFi layers 30–41
ROBUST = (
    # Of the plain fit, for cuts on ghosts; the VELO's and SciFi's ndof are the same after it.
    *((f"chi2_{name}_before", pa.float32()) for name in ("velo", "ut", "scifi")),
    ("ndof_ut_before", pa.int32()),
    ("treated", pa.int32()),  # bits: 1 UT hits taken out, 2 noise of a step enlarged
    (
        "scattered",
        pa.int32(),
    ),  # where that step ends: UT layers 26-29, SciFi layers 30-41 (30: the magnet); -1: none
)
# Log odds that a track is genuine, by how well it fits, and with momentum and direction.
SCORES = (("score", pa.float32()), ("score_kinematic", pa.float32()))
RICH_STATES = tuple(
    (f"{name}_{z}", pa.list_(pa.float32(), count))
    for z in RICH_PLANES
    for name, count in (("state", 4), ("covariance", 10))  # x, y, tx, ty; lower triangle, row by row
)
