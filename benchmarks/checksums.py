"""What checksums cost a run: its tables and JSON files are written and read with and without them.

    python -m benchmarks.checksums results/default --json benchmarks/results/checksums.json

Each file is written once, and read as often as the jobs of the run read it. The difference in processor time
is compared with the processor time of the whole run. Archives of arrays are left out, because their format
contains checksums already.
"""

import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.command import parser, write

from parkf.io import checksums as sealing
from parkf.io import tables
from parkf.io.files import read_json, write_json, write_sealed

_KINDS = {
    f"{table.name} {table.version}": table
    for table in vars(tables).values()
    if isinstance(table, tables.Table)
}


def reads(run: Path) -> Counter[str]:
    """Jobs of a run that read each of its files, according to Snakemake's records."""
    records = run.parents[1] / ".snakemake/metadata"
    # A job has one record for each file that it made, but only one log.
    jobs: dict[str, list[str]] = {}
    for path in sorted(records.iterdir()) if records.is_dir() else ():
        record = json.loads(path.read_text())
        if any(f"{run.name}/" in log for log in record["log"] or ()):
            jobs[str(record["log"])] = record["input"]
    return Counter(name for names in jobs.values() for name in names)


def table_of(path: Path) -> tables.Table | None:
    """Type of the table in a file, with the columns that the file has."""
    schema = pq.read_schema(path)
    known = _KINDS.get((schema.metadata or {}).get(b"parkf.table", b"").decode())
    names = {name for name, _ in known.columns} if known else set()
    return known and known.with_columns(tuple((f.name, f.type) for f in schema if f.name not in names))


def written_and_read(checked: bool, table: tables.Table, rows: pa.Table, path: Path) -> tuple[float, float]:
    """Processor seconds for writing a table's file, and for reading it once."""
    with ExitStack() as without:
        if not checked:
            writer = pq.ParquetWriter
            plain = lambda *a, **k: writer(*a, **{**k, "write_page_checksum": False})  # noqa: E731
            without.enter_context(patch.object(tables.pq, "ParquetWriter", plain))
            without.enter_context(patch.object(tables, "seal", lambda path: None))
        begin = process_time()
        with table.writer(path) as file:
            file.write_table(rows)
        written = process_time()
    opened: Callable[[], pq.ParquetFile] = partial(sealing.CheckedFile, path)
    if not checked:
        opened = partial(pq.ParquetFile, path, pre_buffer=False)
    with opened() as file:
        for group in range(file.num_row_groups):
            file.read_row_group(group)
    return written - begin, process_time() - written


def json_written_and_read(checked: bool, content: dict, path: Path) -> tuple[float, float]:
    """Processor seconds for writing a JSON file, and for reading it once."""
    begin = process_time()
    (write_sealed if checked else write_json)(path, content)
    written = process_time()
    if checked:
        read_json(path)
    else:
        json.loads(path.read_text())
    return written - begin, process_time() - written


def measure(run: Path, turns: int) -> dict:
    """Compare a run's files with and without checksums."""
    counts = reads(run)
    # Seconds with and without checksums in each turn, over all files.
    seconds = {checked: [0.0] * turns for checked in (True, False)}
    size = files = 0
    with TemporaryDirectory() as folder:

        def by_turns(path: Path, timed: Callable[[bool], tuple[float, float]]) -> None:
            count = counts.get(str(run.relative_to(run.parents[1]) / path.relative_to(run)), 0)
            for turn in range(turns):
                # The order changes from turn to turn.
                for checked in (True, False) if turn % 2 else (False, True):
                    write, read = timed(checked)
                    seconds[checked][turn] += write + count * read

        for path in sorted(run.rglob("*.parquet")):
            table = table_of(path)
            if table is not None:
                target = Path(folder) / "table.parquet"
                by_turns(path, partial(written_and_read, table=table, rows=pq.read_table(path), path=target))
                size, files = size + path.stat().st_size, files + 1
        for path in sorted(run.rglob("*.json")):
            content = read_json(path) if path.parent.name not in ("set", "draft") else None
            if isinstance(content, dict):
                by_turns(path, partial(json_written_and_read, content=content, path=Path(folder) / "a.json"))
                size, files = size + path.stat().st_size, files + 1
    total = round(read_json(run / "stages.json")["total_cpu_s"], 1)
    cost = [one - other for one, other in zip(seconds[True], seconds[False], strict=True)]
    return {
        "run": run.name,
        "files": files,
        "megabytes": round(size / 1e6, 1),
        "reads": sum(counts.values()),
        "turns": turns,
        "with_s": round(statistics.median(seconds[True]), 3),
        "without_s": round(statistics.median(seconds[False]), 3),
        "cost_s": [round(one, 3) for one in cost],
        "run_cpu_s": total,
        "share_of_run": round(statistics.median(cost) / total, 5),
    }


def main() -> None:
    line = parser(__doc__)
    line.add_argument("run", type=Path, help="results/<run>, finished")
    line.add_argument("--turns", type=int, default=5)
    options = line.parse_args()
    found = measure(options.run.absolute(), options.turns)
    print(
        f"{found['files']} files, {found['megabytes']} MB, {found['reads']} times read: "
        f"{found['with_s']} s with checksums, {found['without_s']} s without: "
        f"{100 * found['share_of_run']:.2f} % of the run's {found['run_cpu_s']} s of processor",
        file=sys.stderr,
    )
    write(options.json, found)


if __name__ == "__main__":
    main()
