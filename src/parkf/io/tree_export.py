"""Tables of parkf as trees of ROOT files, for analysis programs of the experiments, and as CSV."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from parkf.io.arrow import numbers, type_of
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.files import existing, replacing, scratch_folder
from parkf.io.tables import Table

_KIND = "parkf.table"
_ENTRIES = 1 << 18  # of one basket of each branch; readers of ROOT are slow with small ones


@contextmanager
def written_by_ending(output: Path, table: Table) -> Iterator[Path]:
    """Yield the Parquet file to write; if the block succeeds, `output` is this table in the file's format.

    The format is that of the ending: .parquet, .root or .csv. Another one, or lists in CSV, raise a
    ParkfError before the block begins.
    """
    if output.suffix == ".parquet":
        yield output
        return
    if output.suffix not in (".root", ".csv"):
        raise ParkfError(
            f"{output}: expected a name that ends in .parquet, .root or .csv; name the output so"
        )
    lists = [name for name, kind in table.fields if kind.shape]
    if output.suffix == ".csv" and lists:
        raise ParkfError(f"{output}: column '{lists[0]}' has lists; name an output of .parquet or .root")
    with scratch_folder() as folder:
        path = Path(folder) / "table.parquet"
        yield path
        (export_tree if output.suffix == ".root" else _export_csv)(path, output)


def _export_csv(table: Path, output: Path) -> None:
    with (
        CheckedFile(table) as file,
        replacing(output) as temporary,
        pa.csv.CSVWriter(temporary, file.schema_arrow) as writer,
    ):
        for batch in file.iter_batches():
            writer.write_batch(batch)


def export_tree(table: Path, output: Path) -> None:
    """Write a table of parkf as a tree with the table's name.

    Each column becomes a branch of the same type and unit. Lists of a fixed length become branches with an
    array in each entry. The table's metadata, with the parameter set of fits, are in the string ``metadata``,
    as JSON. A ParkfError reports a file that is no table of parkf, and columns that ROOT cannot hold.
    """
    import uproot

    with CheckedFile(existing(table)) as file:
        schema = file.schema_arrow
        metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
        if _KIND not in metadata:
            raise ParkfError(f"{table}: no table of parkf; expected one, such as fitted tracks")
        name = metadata[_KIND].split()[0]
        branches = {field.name: _branch(field, table) for field in schema}
        with replacing(output, ".root") as temporary, uproot.recreate(temporary) as root:
            root["metadata"] = json.dumps(metadata, sort_keys=True, ensure_ascii=False)
            tree = root.mktree(name, branches)
            for batch in file.iter_batches(batch_size=_ENTRIES):
                tree.extend({field: numbers(batch.column(field)) for field in branches})


def _branch(field: pa.Field, table: Path) -> tuple[np.dtype, tuple[int, ...]]:
    kind = type_of(field.type)
    if kind.base.kind not in "biuf":
        raise ParkfError(f"{table}: column '{field.name}' holds {field.type}, which no branch can hold")
    return kind.base, kind.shape
