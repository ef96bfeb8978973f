"""Tables of parkf as trees of ROOT files, for analysis programs of the experiments."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from parkf.io.arrow import numbers, type_of
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.files import existing, replacing

_KIND = "parkf.table"
_ENTRIES = 1 << 18  # of one basket of each branch; readers of ROOT are slow with small ones


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
