"""Meanings and units of the columns of the tables, for ``parkf schema`` and the documentation.

:mod:`parkf.io.tables` defines the columns of each file, and ``words/columns.yaml`` has the unit and the
meaning of every column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parkf.io import tables
from parkf.io.errors import ParkfError
from parkf.params.exchange.parquet import NUMBERS
from parkf.report.words import texts

TABLES = (
    *(tables.PARTICLES, tables.STATES, tables.FATES, tables.HITS, tables.CANDIDATES),
    *(tables.CLOSURE_TRACKS, tables.STEP_DATA, tables.FITTED, NUMBERS),
)
# Columns that `parkf fit` adds to the table `fitted`, by option.
OPTIONAL: Mapping[str, tables.Columns] = {
    "--robust": tables.ROBUST,
    "--score": tables.SCORES,
    "--rich-states": tables.RICH_STATES,
    "--kind": tables.BEHIND_VELO,
    "--electrons": tables.ELECTRON,
}


@dataclass(frozen=True)
class Described:
    """Description of a column."""

    name: str
    type: str
    unit: str
    meaning: str
    option: str = ""  # of `parkf fit`, which adds the column; empty where it is always there


def table_named(name: str) -> tables.Table:
    """Find a table by its name; ParkfError if there is none of this name."""
    known = {one.name: one for one in TABLES}
    if name not in known:
        raise ParkfError(
            f"no table '{name}'; tables are {', '.join(known)}; `parkf schema --help` lists the documents"
        )
    return known[name]


def described(table: tables.Table) -> list[Described]:
    """Describe the columns of a table in their order; columns that options add come last."""
    words = texts("columns")
    own = words["every table"] | words.get(table.name, {})
    options = {"": table.fields, **(OPTIONAL if table is tables.FITTED else {})}
    return [
        Described(name, _type(type_), unit=own[name][0], meaning=own[name][1], option=option)
        for option, columns in options.items()
        for name, type_ in columns
    ]


def _type(type_: np.dtype[Any]) -> str:
    """Name a type as NumPy does: float32, or float32[26] for lists of 26 numbers."""
    if type_.shape:
        return f"{_type(type_.base)}[{type_.shape[0]}]"
    return "string" if type_.kind == "U" else str(type_)
