"""Fits wrong tables of candidates and honest samples, and counts which are refused or named.

Run: python -m tools.mismatches RUN... --json FILE [--lhcb CANDIDATES...]

Candidates are those of the folders of finished runs, without what parkf records about their detector, so
that only hits can show a mistake. Every mistake of `tools/mismatches/wrong.py` is made in 1,000 candidates of
the first run's validation samples. Honest samples are parts of all samples, fitted with four published sets
in turn. The cost of the comparison is its processor time over that of the fit. Both are the smallest of seven
measurements, because other work on the machine only adds to them. The file records every case, so that a
benchmark that was stopped continues.
"""

import argparse
import functools
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tools.mismatches.honest import SETS, displaced, selections
from tools.mismatches.wrong import MISTAKES, Change

from parkf.fit import fit_file, fitter
from parkf.fit.detector_check import DetectorCheck
from parkf.fit.hits import from_arrow
from parkf.io.errors import ParkfError
from parkf.io.tables import MEASURED
from parkf.params.parameter_set import load
from parkf.params.registry import readable_registry

_SEED = 2026
_PART = 1000  # candidates with a mistake
_LONG = 3000  # of an honest sample
_REPEATS = 7


def changed(candidates: pa.Table, change: Change) -> pa.Table:
    """Return a table with a mistake in its columns."""
    columns = {}
    for name, kind in MEASURED.columns:
        column = candidates.column(name).combine_chunks()
        if pa.types.is_fixed_size_list(kind):
            flat = column.flatten().to_numpy(zero_copy_only=False)
            columns[name] = flat.reshape(len(column), -1).astype(np.float64)
        else:
            columns[name] = column.to_numpy().astype(np.float64)
    change(columns)
    arrays = []
    for name, kind in MEASURED.columns:
        if pa.types.is_fixed_size_list(kind):
            values = pa.array(columns[name].astype(np.float32).ravel())
            arrays.append(pa.FixedSizeListArray.from_arrays(values, type=kind))
        else:
            arrays.append(pa.array(columns[name].astype(kind.to_pandas_dtype())))
    return pa.Table.from_arrays(arrays, schema=MEASURED.schema)


def outcome(candidates: pa.Table, parameters: str, folder: Path) -> dict[str, Any]:
    """Fit a table with a published set; return the outcome, the messages and the number of candidates."""
    path, fitted = folder / "candidates.parquet", folder / "fitted.parquet"
    pq.write_table(candidates.replace_schema_metadata(MEASURED.schema.metadata), path)
    fitted.unlink(missing_ok=True)
    found: dict[str, Any] = {"candidates": candidates.num_rows}
    try:
        summary = fit_file(readable_registry().find(parameters), path, fitted, threads=1)
    except ParkfError as error:
        lines = str(error).splitlines()
        assert not fitted.exists()
        return found | {"outcome": "refused", "messages": lines[1:-1] or lines}
    named = [note for note in summary.notes if not note.startswith("polarity: not checked")]
    return found | {"outcome": "named" if named else "passed", "messages": named}


def honest(runs: list[Path]) -> Iterator[tuple[str, pa.Table]]:
    """Yield honest samples of runs with their names."""
    for number, run in enumerate(runs):
        for path in sorted((run / "candidates").glob("*_*.parquet")):
            candidates = pq.read_table(path).slice(0, _LONG)
            for name, part in selections(candidates, _SEED + number):
                yield f"{run.name}, {path.stem}, {name}", part
            particles = run / "particles" / path.name
            far = displaced(candidates, particles) if path.stem.startswith("validation") else None
            if far is not None:
                yield f"{run.name}, {path.stem}, made 5 mm from the beam line", far


def planned(runs: list[Path], lhcb: list[Path]) -> Iterator[tuple[dict[str, str], pa.Table]]:
    """Yield all cases, each with its description and its candidates."""
    samples = {
        polarity: pq.read_table(runs[0] / f"candidates/validation_{polarity}.parquet").slice(0, _PART)
        for polarity in ("up", "down")
    }
    for number, (what, change) in enumerate(MISTAKES.items()):
        polarity = ("up", "down")[number % 2]
        case = {"kind": "mistake", "what": what, "sample": polarity, "set": SETS[0]}
        yield case, changed(samples[polarity], change)
    for number, (what, part) in enumerate(honest(runs)):
        yield {"kind": "honest", "what": what, "set": SETS[number % len(SETS)]}, part
    for path in lhcb:
        for parameters in SETS:
            yield {"kind": "honest", "what": f"LHCb, {path.stem}", "set": parameters}, pq.read_table(path)


def cost(candidates: Path, parameters: str, folder: Path) -> list[dict[str, float]]:
    """Measure processor times of the comparison and of the fit, for files of several sizes."""
    numbers, table = load(readable_registry().find(parameters)), pq.read_table(candidates)
    times = []
    for count in (10_000, 100_000, 300_000):
        many = pa.concat_tables([table] * (count // table.num_rows + 1)).slice(0, count)
        path = folder / "many.parquet"
        with MEASURED.writer(path) as writer:
            writer.write_table(many.select([name for name, _ in MEASURED.columns]).cast(MEASURED.schema))
        batches = list(MEASURED.open(path).iter_batches(batch_size=MEASURED.rows_in_group))
        tracks = [from_arrow(batch, "float32") for batch in batches]
        checks, fits = [], []
        for _ in range(_REPEATS):
            begin = time.process_time()
            check = DetectorCheck(numbers, "candidates", {})
            for batch in tracks:
                check.add(batch)
            check.finish()
            checks.append(time.process_time() - begin)
            begin = time.process_time()
            fit_file(readable_registry().find(parameters), path, folder / "fitted.parquet", threads=1)
            fits.append(time.process_time() - begin)
        check_time, fit_time = min(checks), min(fits)
        # The fit of a file contains a comparison.
        times.append({"candidates": count, "check": check_time, "fit": fit_time - check_time})
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", help="folders of finished runs")
    parser.add_argument("--json", type=Path, required=True, help="outcome to write")
    parser.add_argument("--lhcb", type=Path, nargs="*", default=[], help="candidates of LHCb's hits")
    options = parser.parse_args()
    # A set is loaded once, and not for every case. `parkf fit`, whose cost is measured, loads it every time.
    loads = fitter.load
    fitter.load = functools.cache(loads)  # type: ignore[assignment]
    cases = json.loads(options.json.read_text("utf-8"))["cases"] if options.json.exists() else []
    tried = {(case["what"], case["set"]) for case in cases}
    with tempfile.TemporaryDirectory() as name:
        for case, candidates in planned(options.runs, options.lhcb):
            if (case["what"], case["set"]) not in tried:
                cases.append(case | outcome(candidates, case["set"], Path(name)))
                options.json.write_text(text({"cases": cases}), "utf-8")
        fitter.load = loads
        sample = options.runs[0] / "candidates/validation_up.parquet"
        options.json.write_text(text({"cases": cases, "cost": cost(sample, SETS[0], Path(name))}), "utf-8")
    for kind in ("mistake", "honest"):
        of = [case["outcome"] for case in cases if case["kind"] == kind]
        print(kind, {one: of.count(one) for one in ("refused", "named", "passed")})


def text(content: dict[str, Any]) -> str:
    """Return the text of a file of results."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
