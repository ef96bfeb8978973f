"""Schemas of the Parquet tables that commands exchange, and their checked reading and writing.

Units: mm, rad, MeV, 1/MeV, elementary charges. A file has the name and version of its table in its metadata;
a reader refuses others. Columns of several hits are fixed-size lists padded with NaN.

Each table has a fixed number of rows in a row group, in whatever pieces rows are written. The bytes of a file
therefore depend on its rows alone, and readers and writers hold one row group in memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from parkf.io.errors import ParkfError
from parkf.io.files import existing, replacing
from parkf.io.planes import RICH_PLANES, SCIFI_LAYERS, UT_LAYERS, VELO_MODULES

# Arrow is imported where files are read and written. Fits of arrays in memory need the names and types alone.
if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

VELO_SLOTS = VELO_MODULES // 2  # a track crosses only one half of the VELO

Columns = tuple[tuple[str, np.dtype[Any]], ...]
"""Names and types of columns; the type of lists has their length as its shape."""


def _hits(slots: int) -> np.dtype[Any]:
    return np.dtype((np.float32, slots))


class RowGroupWriter:
    """Writes rows in row groups of `length`, of which the last one before a :meth:`flush` may be shorter."""

    def __init__(self, file: "pq.ParquetWriter", length: int) -> None:
        self._file = file
        self._length = length
        self._pending: list[pa.Table] = []
        self._count = 0

    def write_table(self, rows: "pa.Table") -> None:
        """Add rows."""
        import pyarrow as pa

        from parkf.io.arrow import column

        self._pending.append(rows)
        self._count += rows.num_rows
        if self._count >= self._length:
            waiting = pa.concat_tables(self._pending)
            whole = self._count - self._count % self._length
            for begin in range(0, whole, self._length):
                self._write(waiting.slice(begin, self._length))
            # The rest is copied, because a slice would keep all of the rows in memory.
            rest = waiting.slice(whole)
            self._pending = [rest.take(column(np.arange(rest.num_rows), pa.int64()))]
            self._count = rest.num_rows

    def write_batch(self, rows: "pa.RecordBatch") -> None:
        """Add rows."""
        import pyarrow as pa

        self.write_table(pa.Table.from_batches([rows]))

    def flush(self) -> None:
        """Write the pending rows, so that the next ones begin a row group."""
        import pyarrow as pa

        if self._count:
            self._write(pa.concat_tables(self._pending))
        self._pending, self._count = [], 0

    def _write(self, rows: "pa.Table") -> None:
        # The ends of pages must not depend on the pieces that were added, so the rows are written as one.
        self._file.write_table(rows.combine_chunks(), row_group_size=self._length)


@dataclass(frozen=True)
class Table:
    """A named, versioned Parquet schema, and the number of rows in a row group of its files."""

    name: str
    version: int
    fields: Columns
    rows_in_group: int = 1 << 15

    @property
    def columns(self) -> "tuple[tuple[str, pa.DataType], ...]":
        """Names and Arrow types of the columns."""
        from parkf.io.arrow import kind_of

        return tuple((name, kind_of(type_)) for name, type_ in self.fields)

    @property
    def schema(self) -> "pa.Schema":
        """Arrow schema with name and version in its metadata."""
        import pyarrow as pa

        return pa.schema(list(self.columns), metadata={"parkf.table": f"{self.name} {self.version}"})

    def with_columns(self, columns: Columns) -> "Table":
        """Return the table with more columns, which readers of this one ignore."""
        return replace(self, fields=self.fields + columns)

    def with_events(self, kind: "np.dtype[Any]") -> "Table":
        """Return the table with event numbers of this type: int32, or int64 where an experiment needs it."""
        return replace(
            self, fields=tuple((name, kind if name == "event" else own) for name, own in self.fields)
        )

    @contextmanager
    def writer(self, path: Path, made_with: Mapping[str, str] | None = None) -> Iterator[RowGroupWriter]:
        """Open a writer of a file that appears when the block succeeds, with `made_with` in its metadata."""
        import pyarrow.parquet as pq

        from parkf.io.checksums import seal

        schema = self.schema.with_metadata({**self.schema.metadata, **(made_with or {})})
        # Floating-point numbers rarely repeat. Their bytes, sorted by significance, need less space and time.
        split = {
            name: f"{name}.list.element" if type_.shape else name
            for name, type_ in self.fields
            if type_.base.kind == "f"
        }
        with replacing(path, ".parquet") as temporary:
            with pq.ParquetWriter(
                temporary,
                schema,
                compression="zstd",
                use_dictionary=[name for name, _ in self.fields if name not in split],
                use_byte_stream_split=[*split.values()],
                write_page_checksum=True,
            ) as file:
                writer = RowGroupWriter(file, self.rows_in_group)
                yield writer
                writer.flush()
            seal(temporary)

    def open(self, path: Path) -> "pq.ParquetFile":
        """Open a file of this table for chunked reading.

        A ParkfError reports a file that is missing, damaged, no Parquet, of another table or version, or
        without a column.
        """
        from parkf.io.checksums import CheckedFile

        file = CheckedFile(existing(path))
        schema = file.schema_arrow
        got = (schema.metadata or {}).get(b"parkf.table", b"(no name)").decode(errors="replace")
        if got != f"{self.name} {self.version}":
            raise ParkfError(
                f"{path}: table '{got}', expected '{self.name} {self.version}'; name a file of that table"
            )
        for name, kind in self.columns:
            index = schema.get_field_index(name)
            if index < 0:
                raise ParkfError(
                    f"{path}: column '{name}' is missing, expected {kind}; `parkf schema` has all columns"
                )
            found = schema.field(index).type
            if found != kind and not (name == "event" and str(found) == "int64"):
                raise ParkfError(
                    f"{path}: column '{name}' has type {found}, expected {kind}; convert the column"
                )
        return file


_STATE = ("x", "y", "tx", "ty")
_DETECTORS = ("velo", "ut", "scifi")
# The footer's entry for each row group, some 2 kB a column, stays in the memory of readers and writers. Long
# tables therefore have longer row groups.
_LONG_GROUP = 1 << 17


def _each(type_: DTypeLike, *names: str) -> Columns:
    return tuple((name, np.dtype(type_)) for name in names)


# Meanings and units of the columns are in parkf.report.column_reference.
PARTICLES = Table(
    "particles",
    1,
    (
        *_each(np.int32, "event", "particle"),
        *_each(np.int16, "collision"),
        *_each(np.int32, "pdg_id", "mother"),
        *_each(np.int8, "charge"),
        *_each(np.float64, "mass", "x", "y", "z", "px", "py", "pz", "z_end"),
    ),
)

STATES = Table(
    "states",
    1,
    (
        *_each(np.int32, "event", "particle"),
        *_each(np.int16, "plane"),
        *_each(np.bool_, "active"),
        *_each(np.float64, "z", *_STATE, "p"),
        *_each(np.int8, "polarity"),
    ),
    rows_in_group=_LONG_GROUP,
)

# Fates of the particles that reach a plane.
FATES = Table("fates", 1, (*_each(np.int32, "event", "particle"), *_each(np.float32, "hardest")))

HITS = Table(
    "hits",
    1,
    (
        *_each(np.int32, "event"),
        *_each(np.int16, "plane"),
        *_each(np.int32, "particle"),
        *_each(np.float64, "x", "y", "z", "dxdy", "dzdy", "sigma"),
    ),
    rows_in_group=_LONG_GROUP,
)

# A candidate has at most one hit in each UT and SciFi layer: of two, the embedded pattern recognition chooses
# the one nearer to the prediction by the other hits. A VELO module may have two hits of the same z.
MEASURED = Table(
    "candidates",
    1,
    (
        *_each(np.int32, "event", "candidate"),
        *_each(np.int8, "polarity"),
        *_each(np.float32, "qop"),
        *_each(np.int32, "velo_n"),
        *_each(_hits(VELO_SLOTS), "velo_x", "velo_y", "velo_z"),
        *_each(_hits(UT_LAYERS), "ut_x", "ut_z", "ut_dxdy", "ut_sigma"),
        *_each(_hits(SCIFI_LAYERS), "scifi_x", "scifi_z", "scifi_dxdy", "scifi_sigma"),
    ),
    rows_in_group=1 << 13,
)

# The same with the truth. Real data have no truth, and therefore a fit reads MEASURED.
CANDIDATES = MEASURED.with_columns((*_each(np.int32, "particle"), *_each(np.float32, "purity")))

# Tracks for the closure of parameters (parkf.training.closure): candidates by truth, and their full fit.
CLOSURE_TRACKS = Table(
    "closure-tracks",
    1,
    (
        *CANDIDATES.fields,
        *_each(np.float64, *(f"{name}_in" for name in _STATE), "true_tx", "true_ty", "true_qop"),
        ("loss", _hits(SCIFI_LAYERS)),
        *_each(np.float64, "full_qop"),
        *_each(np.int32, "full_status"),
    ),
    rows_in_group=CANDIDATES.rows_in_group,
)

STEP_DATA = Table(
    "step-data",
    1,
    (
        *_each(np.int32, "event", "particle", "pdg_id"),
        *_each(np.int8, "charge", "polarity"),
        *_each(np.int16, "set"),
        *_each(np.float64, "qop", "z0", *(f"{name}0" for name in _STATE)),
        *_each(np.float64, "z1", *(f"{name}1" for name in _STATE), *(f"{name}e" for name in _STATE)),
        *_each(np.float64, "p_true"),
    ),
)

FITTED = Table(
    "fitted",
    1,
    (
        *_each(np.int32, "event", "candidate"),
        *_each(np.float32, "z", *_STATE, "qop", "xx", "xtx", "txtx", "yy", "yty", "tyty", "qopqop"),
        *_each(np.float32, *(f"chi2_{name}" for name in _DETECTORS)),
        *_each(np.int32, *(f"ndof_{name}" for name in _DETECTORS)),
        # 0: good, else a sum of bits, which parkf.fit.explain_status describes:
        # 1 non_finite, 2 negative_variance, 4 outside_table, 8 low_momentum, 16 few_velo_hits,
        # 32 no_scifi_hit; of the input: 64 wrong_sigma, 128 wrong_plane, 256 velo_unsorted,
        # 512 velo_count, 1024 wrong_qop, 2048 null_number; a warning, whose fit is good: 4096 far_hit;
        # of kinds besides long tracks: 8192 few_hits, 16384 outside_slices; of long tracks, a warning, too:
        # 32768 far_seed.
        *_each(np.int32, "status"),
    ),
)

# Options of the fit add the columns below to `fitted`.
# χ² after the treatment by a robust fit, on which nobody should cut, and what the fit did. The columns
# `chi2_*` and `ndof_*` keep those of the plain fit. The treatment keeps the ndof of the VELO and the SciFi:
ROBUST: Columns = (
    *_each(np.float32, *(f"chi2_{name}_treated" for name in _DETECTORS)),
    *_each(np.int32, "ndof_ut_treated", "treated", "scattered"),
)
# Log odds that a track is genuine: from the quality of the fit, and also from momentum and direction:
SCORES = _each(np.float32, "score", "score_kinematic")
# Electrons: the fit as a pion; weight of hard radiation; q/p and its variance with little and with hard
# radiation, and of both together; ends of the central 68 % of q/p:
ELECTRON = _each(
    np.float32,
    *("pion_qop", "pion_qopqop", "hard", "soft_qop", "soft_qopqop", "hard_qop", "hard_qopqop"),
    *("mean_qop", "mean_qopqop", "low_qop", "high_qop"),
)
# Tracks without VELO hits have their whole covariance:
BEHIND_VELO = _each(np.float32, "xy", "ytx", "xty", "txty", *(f"{name}qop" for name in _STATE))
# States (x, y, tx, ty), and the lower triangle of their covariance, row by row:
RICH_STATES: Columns = tuple(
    (f"{name}_{z}", _hits(count)) for z in RICH_PLANES for name, count in (("state", 4), ("covariance", 10))
)

_GATHERED = {table.name: table for table in (PARTICLES, STATES, FATES, HITS, CANDIDATES, FITTED)}


def gather(parts: Sequence[Path], path: Path) -> None:
    """Write the rows of all parts, in their order; the bytes do not depend on where the parts end.

    The parts are files of one table, with the same columns and the same metadata. A ParkfError reports a part
    that is missing, no such table, or different from the first.
    """
    from parkf.io.arrow import type_of

    schema = _schema(parts[0])
    made_with = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    name = made_with.pop("parkf.table", "(no name)")
    table = _GATHERED.get(name.split()[0])
    if table is None:
        raise ParkfError(f"{parts[0]}: table '{name}', expected one of {', '.join(_GATHERED)}")
    table = table.with_columns(
        tuple((one.name, type_of(one.type)) for one in schema if one.name not in table.schema.names)
    )
    with table.writer(path, made_with) as writer:
        for part in parts:
            if not _schema(part).equals(schema, check_metadata=True):
                raise ParkfError(
                    f"{part}: columns, or what it was made with, differ from {parts[0]}; "
                    "expected chunks of one sample, made alike"
                )
            with table.open(part) as file:
                for number in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(number))


def _schema(path: Path) -> "pa.Schema":
    from parkf.io.checksums import CheckedFile

    with CheckedFile(existing(path)) as file:
        return file.schema_arrow
