"""Bad tables from users: step datasets, candidates, and hits of another simulation."""

import gzip
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from tests.rows import arrow, step_rows

from parkf.io.planes import UT_LAYERS
from parkf.io.tables import CANDIDATES, MEASURED, STEP_DATA, Table

from .case import ROOT, SET, Case, file

GEOMETRY = ROOT / "data/geometry/run3.yaml"
ALIGNMENT = ROOT / "data/geometry/alignment_nominal.yaml"
ROWS = 120


def _candidates() -> dict[str, np.ndarray]:
    """Columns of candidates that a fit accepts."""
    columns: dict[str, np.ndarray] = {}
    for name, kind in CANDIDATES.columns:
        shape = (3, kind.list_size) if pa.types.is_fixed_size_list(kind) else (3,)
        columns[name] = np.full(shape, 1.0)
    return columns


def _sealed(path: Path, table: Table, rows: pa.Table) -> None:
    with replace(table, rows_in_group=50).writer(path) as writer:
        writer.write_table(rows)


Change = Callable[[dict[str, np.ndarray]], object]


def dataset(wrong: str, change: Change, step: str = "VUT") -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        columns = step_rows(ROWS)
        change(columns)
        _sealed(folder / "mine.parquet", STEP_DATA, arrow(STEP_DATA, columns))
        return ("check-dataset", step, "mine.parquet")

    return Case("step dataset", wrong, make)


def cell(column: str, value: float, wrong: str | None = None) -> Case:
    def change(columns: dict[str, np.ndarray]) -> None:
        columns[column] = columns[column].astype(np.float64)
        columns["charge"][77], columns["qop"][77] = 1, abs(columns["qop"][77])
        columns[column][77] = value

    return dataset(wrong or f"{column} = {value:g}", change)


def bytes_of(
    door: str, arguments: Sequence[str | Path], table: Table, rows: Callable[[], pa.Table]
) -> list[Case]:
    """Files that are not tables, for a command that takes one table."""

    def case(wrong: str, spoil: Callable[[bytes], bytes]) -> Case:
        def make(folder: Path) -> Sequence[str | Path]:
            _sealed(folder / "mine.parquet", table, rows())
            path = folder / "mine.parquet"
            path.write_bytes(spoil(path.read_bytes()))
            return arguments

        return Case(door, wrong, make)

    def flipped(content: bytes, at: int) -> bytes:
        damaged = bytearray(content)
        damaged[at] ^= 1
        return bytes(damaged)

    return [
        case("empty", lambda content: b""),
        case("text", lambda content: b"event,particle\n1,2\n"),
        case("truncated", lambda content: content[: len(content) // 2]),
        case("begins elsewhere", lambda content: content[7:]),
        case("flipped bit in a page", lambda content: flipped(content, 300)),
        case("flipped bit in the footer", lambda content: flipped(content, -400)),
        case("gzip", gzip.compress),
    ]


def foreign_table(
    door: str, arguments: Sequence[str | Path], table: Table, rows: Callable[[], pa.Table]
) -> list[Case]:
    """Parquet files of another program, for a command that takes one table."""

    def case(wrong: str, change: Callable[[pa.Table], pa.Table]) -> Case:
        def make(folder: Path) -> Sequence[str | Path]:
            pq.write_table(change(rows()), folder / "mine.parquet")
            return arguments

        return Case(door, wrong, make)

    name = table.columns[0][0]
    last = table.columns[-1][0]

    def named(label: bytes) -> Callable[[pa.Table], pa.Table]:
        return lambda t: t.replace_schema_metadata({b"parkf.table": label})

    def typed(t: pa.Table) -> pa.Table:
        index = t.schema.get_field_index(last)
        texts = pa.array(["x"] * t.num_rows)
        return t.set_column(index, last, texts)

    return [
        case("without its name", lambda t: t.replace_schema_metadata(None)),
        case("another table", named(b"hits 1")),
        case("another version", named(table.name.encode() + b" 99")),
        case("name that is no UTF-8", named(b"\xff\xfe")),
        case("column missing", lambda t: t.drop_columns([name])),
        case("text for numbers", typed),
    ]


CHECK = ("check-dataset", "VUT", "mine.parquet")
FIT = ("fit", SET, "mine.parquet", "fitted.parquet")


def _null(folder: Path) -> Sequence[str | Path]:
    rows = arrow(STEP_DATA, step_rows(ROWS))
    values = rows.column("y0").to_pylist()
    values[7] = None
    rows = rows.set_column(rows.schema.get_field_index("y0"), STEP_DATA.schema.field("y0"), pa.array(values))
    pq.write_table(rows.replace_schema_metadata(STEP_DATA.schema.metadata), folder / "mine.parquet")
    return CHECK


def _candidates_with(**columns: list[Any]) -> Callable[[Path], Sequence[str | Path]]:
    def make(folder: Path) -> Sequence[str | Path]:
        rows = arrow(CANDIDATES, _candidates())
        for name, values in columns.items():
            field = CANDIDATES.schema.field(name)
            rows = rows.set_column(rows.schema.get_field_index(name), field, pa.array(values, field.type))
        pq.write_table(rows.replace_schema_metadata(CANDIDATES.schema.metadata), folder / "mine.parquet")
        return FIT

    return make


def _holed(name: str) -> Callable[[Path], Sequence[str | Path]]:
    """Candidates with a null in a column of the second one."""
    one: Any = [1.0] * UT_LAYERS if name.startswith("ut_") else 1
    return _candidates_with(**{name: [one, None, one]})


HIT = {"event": 2, "key": 9, "det": "UT", "layer": 1, "x": 30.0, "y": 0.0, "z": 2365.0, "dxdy": 0.087}
HIT |= {"dzdy": 0.0, "ymin": 0.0, "ymax": 97.0, "err": 0.05}
TRACK = {"event": 2, "key": 9, "pid": -321, "charge": -1.0, "p": 5000.0, "eta": 3.0, "phi": 0.5}
TRACK |= {"ovtx_x": 0.1, "ovtx_y": 0.2, "ovtx_z": -3.0, "mother_pid": -999999.0}
IMPORT = ("import", "hits", "h.parquet", "t.parquet", "--hits", "hits.parquet", "--particles", "p.parquet")


def imported(wrong: str, hit: dict[str, Any], track: dict[str, Any]) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        pd.DataFrame([HIT | hit, HIT | {"key": -1}]).to_parquet(folder / "h.parquet")
        pd.DataFrame([TRACK | track | {"key": 9 + number} for number in range(25)]).to_parquet(
            folder / "t.parquet"
        )
        return IMPORT

    return Case("hits of others", wrong, make)


LOOK = ("geometry", "hits", GEOMETRY, "h.parquet")


def looked(wrong: str, hit: dict[str, Any]) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        pd.DataFrame([HIT | hit]).to_parquet(folder / "h.parquet")
        return LOOK

    return Case("hits on a geometry", wrong, make)


def _import_bytes(name: str, content: bytes) -> Callable[[Path], Sequence[str | Path]]:
    def make(folder: Path) -> Sequence[str | Path]:
        pd.DataFrame([HIT]).to_parquet(folder / "h.parquet")
        pd.DataFrame([TRACK]).to_parquet(folder / "t.parquet")
        (folder / name).write_bytes(content)
        return IMPORT

    return make


def _no_column(folder: Path) -> Sequence[str | Path]:
    pd.DataFrame([{name: value for name, value in HIT.items() if name != "err"}]).to_parquet(
        folder / "h.parquet"
    )
    pd.DataFrame([TRACK]).to_parquet(folder / "t.parquet")
    return IMPORT


def _sorted(columns: dict[str, np.ndarray]) -> None:
    for name in ("event", "particle", "polarity"):
        columns[name][33] = columns[name][20]


def _scaled(**factors: float) -> Change:
    def change(columns: dict[str, np.ndarray]) -> None:
        for name, factor in factors.items():
            columns[name] = columns[name] * factor

    return change


CASES = [
    *bytes_of("step dataset", CHECK, STEP_DATA, lambda: arrow(STEP_DATA, step_rows(ROWS))),
    *foreign_table("step dataset", CHECK, STEP_DATA, lambda: arrow(STEP_DATA, step_rows(ROWS))),
    Case("step dataset", "missing", lambda folder: CHECK),
    Case("step dataset", "unknown step", lambda f: ("check-dataset", "MAG", "x.parquet")),
    Case("step dataset", "a null", _null),
    cell("xe", np.nan, wrong="NaN"),
    cell("tx1", np.inf, wrong="infinite"),
    cell("y1", 2e4),
    cell("z1", 5e5),
    cell("tx0", 45.0, wrong="slope in mrad"),
    cell("polarity", 0),
    cell("set", 1),
    cell("charge", 0),
    cell("p_true", 12.0, wrong="one momentum in GeV"),
    cell("qop", 0.0, wrong="q/p = 0"),
    dataset("momenta in GeV", _scaled(p_true=1e-3, qop=1e3)),
    dataset("z0 = z1", lambda c: c.update(z1=c["z0"])),
    dataset("a row twice", _sorted),
    dataset("too few rows", lambda c: None, step="UT"),
    *bytes_of("candidates", FIT, CANDIDATES, lambda: arrow(CANDIDATES, _candidates())),
    *foreign_table("candidates", FIT, MEASURED, lambda: arrow(CANDIDATES, _candidates())),
    Case("candidates", "missing", lambda folder: FIT),
    Case("candidates", "a null", _holed("qop")),
    Case("candidates", "a null for hits", _holed("ut_x")),
    Case("candidates", "polarity 0", _candidates_with(polarity=[1, -1, 0])),
    imported("unknown detector", {"det": "RICH"}, {}),
    imported("unknown layer", {"layer": 7}, {}),
    imported("hit of no particle", {"key": 5}, {}),
    imported("NaN", {"x": np.nan}, {}),
    imported("sigma 0", {"err": 0.0}, {}),
    imported("sigma negative", {"err": -0.1}, {}),
    imported("positions in m", {"z": 2e6}, {}),
    imported("dx/dy 5", {"dxdy": 5.0}, {}),
    imported("momenta in GeV", {}, {"p": 5.0}),
    imported("momentum of text", {}, {"p": "5 GeV"}),
    imported("no momentum", {}, {"p": np.nan}),
    Case("hits of others", "column missing", _no_column),
    Case("hits of others", "text", _import_bytes("h.parquet", b"event,key\n")),
    Case("hits of others", "empty", _import_bytes("t.parquet", b"")),
    Case("hits of others", "missing", lambda folder: IMPORT),
    Case("hits on a geometry", "missing", lambda folder: LOOK),
    Case("hits on a geometry", "text", file("h.parquet", b"a,b", *LOOK)),
    looked("unknown layer", {"layer": 7}),
    looked("positions of text", {"x": "1 mm"}),
    looked("NaN", {"z": np.nan}),
]
