"""Concatenation of files: the rows of a sample's chunks, one after the other."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.files import existing
from parkf.io.tables import CANDIDATES, FATES, FITTED, HITS, PARTICLES, STATES

_TABLES = {table.name: table for table in (PARTICLES, STATES, FATES, HITS, CANDIDATES, FITTED)}


def gather(parts: Sequence[Path], path: Path) -> None:
    """Write the rows of all parts, in their order; the bytes do not depend on where the parts end.

    The parts are files of one table, with the same columns and the same metadata. A ParkfError reports a part
    that is missing, no such table, or different from the first.
    """
    schema = _schema(parts[0])
    made_with = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    name = made_with.pop("parkf.table", "(no name)")
    table = _TABLES.get(name.split()[0])
    if table is None:
        raise ParkfError(f"{parts[0]}: table '{name}', expected one of {', '.join(_TABLES)}")
    table = table.with_columns(
        tuple((one.name, one.type) for one in schema if one.name not in table.schema.names)
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


def _schema(path: Path) -> pa.Schema:
    with CheckedFile(existing(path)) as file:
        return file.schema_arrow
