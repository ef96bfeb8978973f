"""Wall time and peak memory of every stage of a run."""

from pathlib import Path
from typing import Any

import pandas as pd

from parkf.errors import ParkfError


def collect_stages(folder: Path) -> dict[str, Any]:
    """Read Snakemake's benchmark files.

    Parameters
    ----------
    folder : Path
        Holds one ``<stage>.tsv`` for each job.

    Returns
    -------
    dict
        ``stages.<stage> = {wall_s, cpu_s, peak_mb}``, and ``total_cpu_s`` and ``peak_mb`` over them.

    Raises
    ------
    ParkfError
        When there is no benchmark file.
    """
    files = sorted(folder.glob("*.tsv"))
    if not files:
        raise ParkfError(f"{folder}: no benchmark files; did the run go through Snakemake?")
    stages = {}
    for file in files:
        # A stage that ends within the sampling interval has no memory figure ("NA").
        row = pd.read_csv(file, sep="\t").iloc[-1].fillna(0)
        stages[file.stem] = {
            "wall_s": float(row["s"]),
            "cpu_s": float(row["cpu_time"]),
            "peak_mb": float(row["max_rss"]),
        }
    return {
        "stages": stages,
        "total_cpu_s": sum(stage["cpu_s"] for stage in stages.values()),
        "peak_mb": max(stage["peak_mb"] for stage in stages.values()),
    }
