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


def dataset(wrong: str, change: Change, *says: str, step: str = "VUT") -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        columns = step_rows(ROWS)
        change(columns)
        _sealed(folder / "mine.parquet", STEP_DATA, arrow(STEP_DATA, columns))
        return ("check-dataset", step, "mine.parquet")

    return Case("step dataset", wrong, make, ("mine.parquet", *says))


def cell(column: str, value: float, *says: str, wrong: str | None = None) -> Case:
    def change(columns: dict[str, np.ndarray]) -> None:
        columns[column] = columns[column].astype(np.float64)
        columns["charge"][77], columns["qop"][77] = 1, abs(columns["qop"][77])
        columns[column][77] = value

    return dataset(wrong or f"{column} = {value:g}", change, f"column '{column}', row 77: got", *says)


def bytes_of(
    door: str, arguments: Sequence[str | Path], table: Table, rows: Callable[[], pa.Table]
) -> list[Case]:
    """Files that are not tables, for a command that takes one table."""

    def case(wrong: str, spoil: Callable[[bytes], bytes], *says: str) -> Case:
        def make(folder: Path) -> Sequence[str | Path]:
            _sealed(folder / "mine.parquet", table, rows())
            path = folder / "mine.parquet"
            path.write_bytes(spoil(path.read_bytes()))
            return arguments

        return Case(door, wrong, make, ("mine.parquet: not a Parquet file", *says))

    def flipped(content: bytes, at: int) -> bytes:
        damaged = bytearray(content)
        damaged[at] ^= 1
        return bytes(damaged)

    return [
        case("empty", lambda content: b"", "it has 0 bytes"),
        case("text", lambda content: b"event,particle\n1,2\n", "it does not end as such a file does"),
        case("truncated", lambda content: content[: len(content) // 2], "does not end as such a file does"),
        case("begins elsewhere", lambda content: content[7:], "make it again, or get it again"),
        case(
            "flipped bit in a page", lambda content: flipped(content, 300), "make it again, or get it again"
        ),
        case(
            "flipped bit in the footer", lambda content: flipped(content, -400), "checksum that was written"
        ),
        case("gzip", gzip.compress, "it does not end as such a file does"),
    ]


def foreign_table(
    door: str, arguments: Sequence[str | Path], table: Table, rows: Callable[[], pa.Table]
) -> list[Case]:
    """Parquet files of another program, for a command that takes one table."""

    def case(wrong: str, change: Callable[[pa.Table], pa.Table], *says: str) -> Case:
        def make(folder: Path) -> Sequence[str | Path]:
            pq.write_table(change(rows()), folder / "mine.parquet")
            return arguments

        return Case(door, wrong, make, ("mine.parquet: ", *says))

    name = table.columns[0][0]
    last = table.columns[-1][0]

    def named(label: bytes) -> Callable[[pa.Table], pa.Table]:
        return lambda t: t.replace_schema_metadata({b"parkf.table": label})

    def typed(t: pa.Table) -> pa.Table:
        index = t.schema.get_field_index(last)
        texts = pa.array(["x"] * t.num_rows)
        return t.set_column(index, last, texts)

    expected = f"expected '{table.name} {table.version}'"
    return [
        case("without its name", lambda t: t.replace_schema_metadata(None), "table '(no name)'", expected),
        case("another table", named(b"hits 1"), "table 'hits 1'", expected),
        case("another version", named(table.name.encode() + b" 99"), f"table '{table.name} 99'", expected),
        case("name that is no UTF-8", named(b"\xff\xfe"), "table '", expected),
        case("column missing", lambda t: t.drop_columns([name]), f"column '{name}' is missing"),
        case("text for numbers", typed, f"column '{last}' has type string, expected"),
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


def imported(wrong: str, hit: dict[str, Any], track: dict[str, Any], *says: str) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        pd.DataFrame([HIT | hit, HIT | {"key": -1}]).to_parquet(folder / "h.parquet")
        pd.DataFrame([TRACK | track]).to_parquet(folder / "t.parquet")
        return IMPORT

    return Case("hits of others", wrong, make, says)


LOOK = ("geometry", "hits", GEOMETRY, "h.parquet")


def looked(wrong: str, hit: dict[str, Any], *says: str) -> Case:
    def make(folder: Path) -> Sequence[str | Path]:
        pd.DataFrame([HIT | hit]).to_parquet(folder / "h.parquet")
        return LOOK

    return Case("hits on a geometry", wrong, make, ("h.parquet: ", *says))


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
    Case("step dataset", "missing", lambda folder: CHECK, ("mine.parquet: no such file",)),
    Case(
        "step dataset",
        "unknown step",
        lambda f: ("check-dataset", "MAG", "x.parquet"),
        ("no step 'MAG'; steps",),
    ),
    Case("step dataset", "a null", _null, ("column 'y0', row 7: null, expected a value",)),
    cell("xe", np.nan, "expected a finite number", wrong="NaN"),
    cell("tx1", np.inf, "expected a finite number", wrong="infinite"),
    cell("y1", 2e4, "expected mm, within ±10000"),
    cell("z1", 5e5, "expected mm, between"),
    cell("tx0", 45.0, "expected a slope dx/dz", wrong="slope in mrad"),
    cell("polarity", 0, "expected +1 (MagUp) or -1 (MagDown)"),
    cell("set", 1, "expected a set of step VUT, 0 to 0"),
    cell("charge", 0, "expected not 0"),
    cell("p_true", 12.0, "MeV", wrong="one momentum in GeV"),
    cell("qop", 0.0, "charge's sign", wrong="q/p = 0"),
    dataset("momenta in GeV", _scaled(p_true=1e-3, qop=1e3), "column 'p_true', row 0", "MeV"),
    dataset("z0 = z1", lambda c: c.update(z1=c["z0"]), "another z than the origin's"),
    dataset("a row twice", _sorted, "rows 20 and 33 are the same"),
    dataset("too few rows", lambda c: None, "set 1 of step UT has 0 rows, expected at least 100", step="UT"),
    *bytes_of("candidates", FIT, CANDIDATES, lambda: arrow(CANDIDATES, _candidates())),
    *foreign_table("candidates", FIT, MEASURED, lambda: arrow(CANDIDATES, _candidates())),
    Case("candidates", "missing", lambda folder: FIT, ("mine.parquet: no such file",)),
    Case("candidates", "a null", _holed("qop"), ("mine.parquet: column 'qop', row 1: null, expected a",)),
    Case("candidates", "a null for hits", _holed("ut_x"), ("mine.parquet: column 'ut_x', row 1: null",)),
    Case(
        "candidates",
        "polarity 0",
        _candidates_with(polarity=[1, -1, 0]),
        ("mine.parquet: column 'polarity', row 2: got 0, expected +1 or -1",),
    ),
    imported(
        "unknown detector", {"det": "RICH"}, {}, "h.parquet: row 0: detector 'RICH', layer 1 is unknown"
    ),
    imported("unknown layer", {"layer": 7}, {}, "h.parquet: row 0: detector 'UT', layer 7 is unknown"),
    imported(
        "hit of no particle", {"key": 5}, {}, "h.parquet: row 0: particle (event 2, key 5) not in t.parquet"
    ),
    imported("NaN", {"x": np.nan}, {}, "h.parquet: row 0: 'x' is not a finite number"),
    imported("sigma 0", {"err": 0.0}, {}, "h.parquet: row 0: 'sigma' is 0, expected mm, above 0"),
    imported("sigma negative", {"err": -0.1}, {}, "h.parquet: row 0: 'sigma' is -0.1, expected mm, above 0"),
    imported("positions in m", {"z": 2e6}, {}, "h.parquet: row 0: 'z' is 2e+06, expected mm, within"),
    imported("dx/dy 5", {"dxdy": 5.0}, {}, "h.parquet: row 0: 'dxdy' is 5, expected a slope, within"),
    imported("momenta in GeV", {}, {"p": 5.0}, "t.parquet: half of the momenta are below 5", "in GeV?"),
    imported("momentum of text", {}, {"p": "5 GeV"}, "t.parquet: column 'p' has type", "expected numbers"),
    imported("no momentum", {}, {"p": np.nan}, "t.parquet: row 0", "not a finite number"),
    Case(
        "hits of others",
        "column missing",
        _no_column,
        ("h.parquet: column 'err' is missing; expected event",),
    ),
    Case(
        "hits of others",
        "text",
        _import_bytes("h.parquet", b"event,key\n"),
        ("h.parquet: not a Parquet file",),
    ),
    Case("hits of others", "empty", _import_bytes("t.parquet", b""), ("t.parquet: not a Parquet file",)),
    Case("hits of others", "missing", lambda folder: IMPORT, ("h.parquet: no such file",)),
    Case("hits on a geometry", "missing", lambda folder: LOOK, ("h.parquet: no such file",)),
    Case("hits on a geometry", "text", file("h.parquet", b"a,b", *LOOK), ("h.parquet: not a Parquet file",)),
    looked("unknown layer", {"layer": 7}, "row 0: detector 'UT', layer 7 is unknown"),
    looked("positions of text", {"x": "1 mm"}, "column 'x' has type", "expected numbers"),
    looked("NaN", {"z": np.nan}, "row 0: 'z' is not a finite number"),
]
