"""Files of candidates: the table ``candidates``, Parquet files of other programs, and trees of ROOT files."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parkf.fit.hits import Hits, event_kind, hits_of
from parkf.io.checks import Z_OF_HITS, Unit, require_units
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.files import existing
from parkf.io.fingerprints.detector import recorded_detector
from parkf.io.root_files import chosen_tree, open_root, tree_names
from parkf.io.tables import CANDIDATES, MEASURED, Table

_UNITS = {
    "qop": Unit("1/MeV", 1e-6, 1.5e-4, 3e-3),
    "velo_z": Unit("mm", 5.0, 300.0, 1000.0),
    "ut_z": Z_OF_HITS["UT"],
    "scifi_z": Z_OF_HITS["SciFi"],
    "ut_sigma": Unit("mm", 5e-3, 0.03, 1.0),
    "scifi_sigma": Unit("mm", 0.02, 0.11, 3.0),
}
_SCANNED = 1 << 17  # event numbers at a time
# Reads columns, so many rows at a time (None: all): Arrow's rows, or records of Awkward Array.
Reader = Callable[[list[str], int | None], Iterator[Any]]


@dataclass(frozen=True)
class CandidatesFile:
    """An open file, whose rows :meth:`batches` reads."""

    path: Path
    count: int
    metadata: Mapping[bytes, bytes]  # of the table
    columns: frozenset[str]
    read: Reader

    @property
    def table(self) -> Table:
        """The table of these columns: with the truth, or without it."""
        return CANDIDATES if {"particle", "purity"} <= self.columns else MEASURED

    def event_kind(self) -> "np.dtype[Any]":
        """Return the type for the numbers of all events, int32 or int64; wide ones are read for it."""
        pieces = self.read(["event"], _SCANNED) if "event" in self.columns else iter(())
        kinds = (event_kind(np.asarray(piece["event"])) for piece in pieces)
        return max(kinds, key=lambda kind: kind.itemsize, default=np.dtype(np.int32))

    def batches(self, size: int | None, table: Table = MEASURED) -> Iterator[Hits]:
        """Yield the candidates, up to `size` at a time.

        A ParkfError names a row without a value or with a wrong polarity, and a column in another unit.
        """
        begin = 0
        for rows in self.read([name for name, _ in table.fields if name in self.columns], size):
            hits = hits_of(rows, where=str(self.path), begin=begin, table=table)
            if not begin:
                require_units(self.path, hits.arrays, _UNITS)
            begin += len(rows)
            # Free this batch before the next one is read, so that memory never holds two.
            del rows
            yield hits
            del hits

    def read_all(self) -> Hits:
        """Return all candidates."""
        (hits,) = self.batches(None)
        return replace(hits, recorded=recorded_detector(self.metadata))


@contextmanager
def open_candidates(path: Path) -> Iterator[CandidatesFile]:
    """Open a file of candidates: .root, with one tree or one named candidates; else Parquet.

    A ParkfError reports a file that is missing, damaged, or a table of parkf with other content.
    """
    if path.suffix == ".root":
        with open_root(path) as file:
            yield _of_root(file, path)
        return
    with CheckedFile(existing(path)) as file:
        schema, count = file.schema_arrow, file.metadata.num_rows
        metadata = dict(schema.metadata or {})
        _check_name(path, metadata)

        def read(columns: list[str], size: int | None) -> Iterator[Any]:
            if size is None:
                return iter([file.read(columns)])
            return file.iter_batches(batch_size=size, columns=columns)

        yield CandidatesFile(path, count, metadata, frozenset(schema.names), read)


def _of_root(file: Any, path: Path) -> CandidatesFile:
    several = len(tree_names(file)) > 1
    tree = file[chosen_tree(file, path, MEASURED.name if several else None)]
    # What `parkf export tree` writes.
    text = str(file["metadata"]) if "metadata" in file else "{}"
    metadata = {key.encode(): str(value).encode() for key, value in json.loads(text).items()}
    _check_name(path, metadata)

    def read(columns: list[str], size: int | None) -> Iterator[Any]:
        return iter([tree.arrays(columns)]) if size is None else tree.iterate(columns, step_size=size)

    return CandidatesFile(path, tree.num_entries, metadata, frozenset(tree.keys()), read)


def _check_name(path: Path, metadata: Mapping[bytes, bytes]) -> None:
    """Files of other programs have no name of a table; one of parkf must be that of candidates."""
    got = metadata.get(b"parkf.table", f"{MEASURED.name} {MEASURED.version}".encode()).decode(
        errors="replace"
    )
    if got != f"{MEASURED.name} {MEASURED.version}":
        raise ParkfError(
            f"{path}: table '{got}', expected '{MEASURED.name} {MEASURED.version}'; name a file of that table"
        )
