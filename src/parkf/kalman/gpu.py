"""The fit on a GPU through CuPy: the same headers, one track a thread."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.choices import FormsName
from parkf.errors import ParkfError
from parkf.kalman.candidates import Candidates
from parkf.kalman.fitted import INTEGERS, NUMBERS, Fitted
from parkf.kalman.source import flattened
from parkf.parameters.parameter_set import ParameterSet

THREADS_PER_BLOCK = 128
# Multiplications and additions are fused, as in the processor's v3 and v4 builds; results agree to rounding.
OPTIONS = ("--std=c++17", "--fmad=true")


def fit(parameters: ParameterSet, tracks: Candidates, *, smoother: bool) -> Fitted:
    """Fit a batch on the current GPU, in the precision of its arrays.

    Raises
    ------
    ParkfError
        When CuPy or a GPU is missing.
    """
    cupy = _cupy()
    real = tracks.qop.dtype.type
    module = _module(
        parameters.constant.tobytes(), parameters.manifest.forms, tracks.qop.dtype.name, cupy.cuda.Device().id
    )
    constants = parameters.manifest.constants
    numbers = cupy.empty((len(NUMBERS), tracks.count), dtype=real)
    integers = cupy.empty((len(INTEGERS), tracks.count), dtype=np.int32)
    # Neighbouring threads read neighbouring numbers: rows of hits are turned where bandwidth is plenty.
    arrays = [cupy.asarray(a) for a in (tracks.polarity, tracks.qop, tracks.velo_n)]
    for hits in (tracks.velo, tracks.ut, tracks.scifi):
        arrays.append(cupy.stack([cupy.asarray(rows).T for rows in hits]))
    if tracks.count:
        module.get_function("fit_smoother" if smoother else "fit_forward_backward")(
            (-(-tracks.count // THREADS_PER_BLOCK),),
            (THREADS_PER_BLOCK,),
            (
                np.int64(tracks.count),
                np.int64(tracks.count),
                *arrays,
                cupy.asarray(parameters.table),
                real(constants.velo_sigma**2),
                real(constants.beam_x),
                real(constants.beam_y),
                numbers,
                integers,
            ),
        )
    return Fitted.from_kernel(numbers.get(), integers.get())


@lru_cache(maxsize=8)
def _module(blob: bytes, forms: FormsName, precision: str, device: int) -> Any:
    """One compiled module for each constant blob: constant memory belongs to the module."""
    cupy = _cupy()
    real = {"float32": "float", "float64": "double"}[precision]
    module = cupy.RawModule(code=flattened(forms), options=(*OPTIONS, f"-DPARKF_REAL={real}"))
    constants: NDArray = np.frombuffer(blob, dtype="<f4").astype(precision)
    target = cupy.ndarray(constants.shape, dtype=constants.dtype, memptr=module.get_global("parkf_constant"))
    target.set(constants)
    return module


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise ParkfError(
            "backend 'gpu': CuPy is missing; install parkf[gpu], or use backend 'cpu'"
        ) from error
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ParkfError(f"backend 'gpu': no GPU: {error}; use backend 'cpu'") from error
    return cupy
