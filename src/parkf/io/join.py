"""Concatenation of files: the rows of a sample's chunks, one after the other."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.files import existing
from parkf.io.tables import CANDIDATES, FATES, FITTED, HITS, PARTICLES, STATES, Table

_TABLES = {table.name: table for table in (PARTICLES, STATES, FATES, HITS, CANDIDATES, FITTED)}
_KEY = b"parkf.table"


def gather(parts: Sequence[Path], path: Path) -> None:
    """Write the rows of all parts, in their order; the bytes do not depend on where the parts end.

    Parameters
    ----------
    parts : sequence of Path
        Files of one table, with the same columns and the same metadata.
    path : Path
        The file to write.

    Raises
    ------
    ParkfError
        When a part is missing, no such table, or differs from the first.
    """
    schema = _schema(parts[0])
    table, made_with = _table(parts[0], schema)
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


def _schema(path: Path) -> pa.Schema:
    with CheckedFile(existing(path)) as file:
        return file.schema_arrow


def _table(path: Path, schema: pa.Schema) -> tuple[Table, dict[str, str]]:
    """Return the table of a file with the file's further columns, and the rest of its metadata."""
    metadata = dict(schema.metadata or {})
    name = metadata.pop(_KEY, b"(no name)").decode()
    table = _TABLES.get(name.split()[0])
    if table is None:
        raise ParkfError(f"{path}: table '{name}', expected one of {', '.join(_TABLES)}")
    more = tuple((field.name, field.type) for field in schema if field.name not in table.schema.names)
    return table.with_columns(more), {key.decode(): value.decode() for key, value in metadata.items()}
