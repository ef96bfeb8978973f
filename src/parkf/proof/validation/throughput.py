"""How many tracks a second the fit takes, on a run's own candidates: a figure of a machine, not of a set.

It has a file of its own, beside ``validation.json``, which holds what is the same wherever a run took place.
"""

import platform
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

import parkf._fitter as _fitter
from parkf.fit import fit
from parkf.fit.candidates import from_arrow
from parkf.io.tables import CANDIDATES
from parkf.params.parameter_set import load

PRECISIONS = ("float32", "float64")
REPEATS = 9
# Seconds; shorter calls are repeated within a measurement, so that the clock and the start of threads do not
# matter.
SHORTEST = 0.05


def measure_throughput(parameters: Path, candidates: Sequence[Path], *, threads: int) -> dict[str, Any]:
    """Time the fit by smoother, from candidates in memory to fitted states in memory.

    Parameters
    ----------
    parameters : Path
        Folder of the set.
    candidates : sequence of Path
        Tables CANDIDATES; they are fitted in one call.
    threads : int
        Is measured beside a single thread.

    Returns
    -------
    dict
        ``device`` and ``build`` of the kernel that it took; ``tracks``; ``rates[] = {precision, threads,
        tracks_per_s, fastest, slowest}``, `tracks_per_s` the median of nine measurements.

    Raises
    ------
    ParkfError
        When a file is missing or broken.
    """
    numbers = load(parameters)
    tables = [CANDIDATES.open(path).read() for path in candidates]
    rows = pa.concat_tables(tables).combine_chunks()
    rates = []
    for precision in PRECISIONS:
        tracks = from_arrow(rows, np.dtype(precision))
        for count in sorted({1, threads}):
            seconds = _times(partial(fit, numbers, tracks, threads=count))
            rates.append(
                {
                    "precision": precision,
                    "threads": count,
                    "tracks_per_s": tracks.count / median(seconds),
                    "fastest": tracks.count / min(seconds),
                    "slowest": tracks.count / max(seconds),
                }
            )
    return {"device": device(), "build": _fitter.builds()[0], "tracks": rows.num_rows, "rates": rates}


def device() -> str:
    """Name the processor as the system calls it, with what tells its generation, if given."""
    known = Path("/proc/cpuinfo")
    text = known.read_text() if known.is_file() else ""
    said = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", text, re.MULTILINE))
    if "model name" not in said:
        return platform.processor() or platform.machine()
    return f"{said['model name']} (family {said.get('cpu family')}, model {said.get('model')})"


def _times(run: Callable[[], object]) -> list[float]:
    """Seconds of a call in each of several measurements."""
    begin = time.perf_counter()
    run()
    turns = max(1, round(SHORTEST / max(time.perf_counter() - begin, 1e-6)))
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        for _ in range(turns):
            run()
        times.append((time.perf_counter() - begin) / turns)
    return times
