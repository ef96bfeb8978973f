"""Fit candidates with a parameter set: batches in memory, and whole files."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

import parkf._fitter as _fitter
from parkf.choices import Backend, Precision, Scheme
from parkf.errors import ParkfError
from parkf.kalman import cpu, gpu
from parkf.kalman.candidates import Candidates, from_arrow
from parkf.kalman.fitted import Fitted
from parkf.parameters.parameter_set import ParameterSet, load
from parkf.tables import CANDIDATES, FITTED


# Candidates read, fitted and written at a time: 60 MB of float32.
BATCH = 1 << 16


def fit(
    parameters: ParameterSet,
    candidates: pa.Table | pa.RecordBatch | Candidates,
    *,
    scheme: Scheme = "smoother",
    precision: Precision = "float32",
    backend: Backend = "cpu",
    threads: int | None = None,
) -> Fitted:
    """Fit a batch of candidates.

    Parameters
    ----------
    parameters : ParameterSet
        The set to fit with.
    candidates : pyarrow.Table, pyarrow.RecordBatch or Candidates
        Rows of the table ``candidates``, or a batch in the kernel's layout, which brings its own precision.
    scheme : {'smoother', 'forward_backward'}
        One forward filter that smooths the state at the first VELO hit and bends where the first SciFi hit
        says; or the scheme in production, forward and once more backward through the VELO.
    precision : {'float32', 'float64'}
        Numbers that the kernel computes with.
    backend : {'cpu', 'gpu'}
        Processor cores, or the current GPU through CuPy.
    threads : int, optional
        Threads of the CPU back end; as many as cores by default.

    Raises
    ------
    ParkfError
        When an option or a column is wrong, the set's formulas are not this kernel's, or there is no GPU.
    """
    for name, got, known in (
        ("scheme", scheme, ("smoother", "forward_backward")),
        ("precision", precision, ("float32", "float64")),
        ("backend", backend, ("cpu", "gpu")),
    ):
        if got not in known:
            raise ParkfError(f"{name} '{got}': expected one of {', '.join(known)}")
    formulas = parameters.manifest.formulas
    if formulas != _fitter.formulas_hash:
        raise ParkfError(
            f"parameter set: made for formulas {formulas[:12]}…, expected {_fitter.formulas_hash[:12]}… of "
            "this kernel; train the set again, or install the version of parkf that made it"
        )
    tracks = candidates if isinstance(candidates, Candidates) else from_arrow(candidates, np.dtype(precision))
    smoother = scheme == "smoother"
    if backend == "gpu":
        return gpu.fit(parameters, tracks, smoother=smoother)
    return cpu.fit(parameters, tracks, smoother=smoother, threads=threads)


def fit_file(
    parameters: Path,
    candidates: Path,
    fitted: Path,
    *,
    scheme: Scheme = "smoother",
    precision: Precision = "float32",
    backend: Backend = "cpu",
    threads: int | None = None,
) -> int:
    """Fit a file of candidates, batch by batch, and return how many there were.

    Parameters
    ----------
    parameters : Path
        Folder of a parameter set.
    candidates, fitted : Path
        Parquet tables ``candidates`` (read) and ``fitted`` (written).
    scheme, precision, backend, threads
        As for :func:`fit`.

    Raises
    ------
    ParkfError
        When an input is missing or does not match what is expected of it.
    """
    numbers = load(parameters)
    count = 0
    with (
        CANDIDATES.open(candidates) as file,
        FITTED.writer(fitted) as writer,
        tqdm(total=file.metadata.num_rows, desc="fit", unit=" tracks", disable=None) as bar,
    ):
        for rows in file.iter_batches(batch_size=BATCH):
            tracks = fit(numbers, rows, scheme=scheme, precision=precision, backend=backend, threads=threads)
            writer.write_batch(tracks.to_arrow(rows.column("event"), rows.column("candidate")))
            count += rows.num_rows
            bar.update(rows.num_rows)
    return count
