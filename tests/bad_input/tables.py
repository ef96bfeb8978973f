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

from .case import ROOT, SET, Case

GEOMETRY = ROOT / "data/geometry/run3.yaml"
ALIGNMENT = ROOT / "data/geometry/alignment_nominal.yaml"
ROWS = 120
HOLED = [*[0.5] * 7, None, *[0.5] * (ROWS - 8)]


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


def _with(
    table: Table, rows: dict[str, np.ndarray], call: Sequence[str | Path], **columns: list[Any]
) -> Callable[[Path], Sequence[str | Path]]:
    """Make a table in which other values, or nulls, replace some columns."""

    def make(folder: Path) -> Sequence[str | Path]:
        made = arrow(table, rows)
        for name, values in columns.items():
            field = table.schema.field(name)
            made = made.set_column(made.schema.get_field_index(name), field, pa.array(values, field.type))
        pq.write_table(made.replace_schema_metadata(table.schema.metadata), folder / "mine.parquet")
        return call

    return make


def _holed(name: str) -> Callable[[Path], Sequence[str | Path]]:
    """Candidates with a null in a column of the second one."""
    one: Any = [1.0] * UT_LAYERS if name.startswith("ut_") else 1
    return _with(CANDIDATES, _candidates(), FIT, **{name: [one, None, one]})


HIT = {"event": 2, "key": 9, "det": "UT", "layer": 1, "x": 30.0, "y": 0.0, "z": 2365.0, "dxdy": 0.087}
HIT |= {"dzdy": 0.0, "ymin": 0.0, "ymax": 97.0, "err": 0.05}
TRACK = {"event": 2, "key": 9, "pid": -321, "charge": -1.0, "p": 5000.0, "eta": 3.0, "phi": 0.5}
TRACK |= {"ovtx_x": 0.1, "ovtx_y": 0.2, "ovtx_z": -3.0, "mother_pid": -999999.0}
IMPORT = ("import", "hits", "h.parquet", "t.parquet", "--hits", "hits.parquet", "--particles", "p.parquet")


Values = dict[str, Any]


def imported(
    wrong: str, hit: Values | None = None, track: Values | None = None, drop: str = "", **contents: bytes
) -> Case:
    """Make a file of hits and one of tracks, with other values, without a column, or with these contents."""

    def make(folder: Path) -> Sequence[str | Path]:
        hits = pd.DataFrame([HIT | (hit or {}), HIT | {"key": -1}])
        tracks = pd.DataFrame([TRACK | (track or {}) | {"key": 9 + number} for number in range(25)])
        hits.drop(columns=[drop] if drop else []).to_parquet(folder / "h.parquet")
        tracks.to_parquet(folder / "t.parquet")
        for name, content in contents.items():
            (folder / f"{name}.parquet").write_bytes(content)
        return IMPORT

    return Case("hits of others", wrong, make)


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
    Case(
        "step dataset",
        "a null",
        _with(STEP_DATA, step_rows(ROWS), CHECK, y0=HOLED),
    ),
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
    Case("candidates", "polarity 0", _with(CANDIDATES, _candidates(), FIT, polarity=[1, -1, 0])),
    imported("unknown detector", {"det": "RICH"}),
    imported("unknown layer", {"layer": 7}),
    imported("hit of no particle", {"key": 5}),
    imported("NaN", {"x": np.nan}),
    imported("sigma 0", {"err": 0.0}),
    imported("sigma negative", {"err": -0.1}),
    imported("positions in m", {"z": 2e6}),
    imported("dx/dy 5", {"dxdy": 5.0}),
    imported("momenta in GeV", track={"p": 5.0}),
    imported("momentum of text", track={"p": "5 GeV"}),
    imported("no momentum", track={"p": np.nan}),
    imported("column missing", drop="err"),
    imported("text", h=b"event,key\n"),
    imported("empty", t=b""),
    Case("hits of others", "missing", lambda folder: IMPORT),
]
