"""Tracks per second of the fit, on a run's own candidates: a property of a machine, not of a set.

It has its own file, because ``validation.json`` does not depend on the machine.
"""

import platform
import re
import timeit
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, get_args

import numpy as np
import pyarrow as pa

import parkf._fitter as _fitter
from parkf.fit import fit
from parkf.fit.hits import from_arrow
from parkf.io.option_types import Precision
from parkf.io.tables import CANDIDATES
from parkf.params.parameter_set import load

REPEATS = 9
# Seconds; shorter calls are repeated within a measurement, so that neither the clock's resolution nor the
# start of threads matters.
SHORTEST = 0.02


def measure_throughput(parameters: Path, candidates: Sequence[Path], *, threads: int) -> dict[str, Any]:
    """Time the fit with the set in a folder, from candidates in memory to fitted states in memory.

    The tables ``candidates`` are fitted in one call, by a single thread and by `threads`. The result has
    ``device`` and ``build`` of the kernel; ``tracks``; ``rates[] = {precision, threads, tracks_per_s,
    fastest, slowest}``, `tracks_per_s` the median of nine measurements.
    """
    numbers = load(parameters)
    tables = [CANDIDATES.open(path).read() for path in candidates]
    rows = pa.concat_tables(tables).combine_chunks()
    rates = []
    for precision in get_args(Precision):
        tracks = from_arrow(rows, np.dtype(precision))
        for count in sorted({1, threads}):
            timer = timeit.Timer(partial(fit, numbers, tracks, threads=count))
            turns = max(1, round(SHORTEST / max(timer.timeit(1), 1e-6)))
            seconds = [one / turns for one in timer.repeat(REPEATS, turns)]
            several = {"tracks_per_s": median(seconds), "fastest": min(seconds), "slowest": max(seconds)}
            rate = {name: tracks.count / one for name, one in several.items()}
            rates.append({"precision": precision, "threads": count, **rate})
    return {"device": device(), "build": _fitter.builds()[0], "tracks": rows.num_rows, "rates": rates}


def device() -> str:
    """Return the system's name of the processor, on Linux with family and model."""
    file = Path("/proc/cpuinfo")
    text = file.read_text() if file.is_file() else ""
    found = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", text, re.MULTILINE))
    if "model name" not in found:
        return platform.processor() or platform.machine()
    return f"{found['model name']} (family {found.get('cpu family')}, model {found.get('model')})"
