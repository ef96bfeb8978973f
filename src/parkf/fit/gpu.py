"""The fit on a GPU through CuPy: the same headers as on processor cores, with one track in each thread.

The results of GPU and processor agree to rounding, but not byte for byte.
"""

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit.candidates import Candidates
from parkf.fit.cpu import foil
from parkf.fit.fitted import INTEGERS, INTEGERS_BEFORE, NUMBERS, NUMBERS_BEFORE, Fitted
from parkf.fit.source import flattened, kernel_of
from parkf.io.errors import ParkfError
from parkf.io.kinds import Kind
from parkf.io.option_types import Backend, BackendChoice, Origin
from parkf.io.tables import BEHIND_VELO
from parkf.params.parameter_set import ParameterSet

# A block is one warp. Its threads wait for each other, and small blocks leave the least shared memory unused.
THREADS_PER_BLOCK = 32
# Multiplications and additions are fused, as in the processor's v3 and v4 builds; results agree to rounding.
OPTIONS = ("--std=c++17", "--fmad=true", f"-DPARKF_THREADS={THREADS_PER_BLOCK}")
# Number of tracks in host arrays that are copied to the GPU together, 120 MB in float32. The next part is
# copied while this one is fitted.
PART = 1 << 18
_STREAMS = 2


def fit(
    parameters: ParameterSet,
    tracks: Candidates,
    *,
    smoother: bool,
    robust: bool = False,
    origin: Origin = "vertex",
) -> Fitted:
    """Fit a batch on the current GPU, in the precision of its arrays.

    Candidates in CuPy arrays stay on the GPU, and the results are CuPy arrays. The kernel reads rows of hits
    in place. Arrays that have gaps, or do not start at a multiple of 16 bytes, are copied first. NumPy arrays
    are copied to the GPU in parts, by two streams in turn, and the results are copied back in the same way. A
    ParkfError is raised without CuPy or a GPU.
    """
    name = "fit_smoother" if smoother else "fit_trigger"
    kernel = Kernel(parameters, tracks.qop.dtype, name, robust=robust, origin=origin)
    return Fitted.from_kernel(*_fit_in_parts(kernel, tracks))


def fit_kind(parameters: ParameterSet, tracks: Candidates, kind: Kind) -> Fitted:
    """Fit tracks of a kind other than long ones on the current GPU; arrays are treated as by :func:`fit`."""
    cupy, real, slices = _cupy(), tracks.qop.dtype, parameters.slices
    assert slices is not None
    maps, place, centre, scatterers = slices.for_kernel
    first = (
        *map(np.bool_, (kind.velo, kind.ut, kind.scifi)),
        real.type(slices.loss_before(ut=kind.ut)),
        *(cupy.asarray(maps), np.int32(len(centre)), *map(np.float64, place), cupy.asarray(centre)),
        *(np.int32(len(scatterers)), cupy.asarray(scatterers)),
    )
    more = () if kind.velo else tuple(dict(BEHIND_VELO))
    rows = len(NUMBERS) + len(more), len(INTEGERS)
    numbers, integers = _fit_in_parts(
        Kernel(parameters, real, "fit_kind", file="fit/kind.cu", rows=rows, first=first), tracks
    )
    return Fitted.from_kernel(numbers, integers, more)


def _fit_in_parts(kernel: "Kernel", tracks: Candidates) -> Sequence[Any]:
    """Return numbers and integers, (rows, n) each, where the arrays of the candidates are."""
    cupy = kernel.cupy
    if isinstance(tracks.qop, cupy.ndarray):
        return kernel(tracks)
    numbers, integers = (
        np.empty((rows, tracks.count), dtype=kind)
        for rows, kind in zip(kernel.rows, (tracks.qop.dtype, np.int32), strict=True)
    )
    streams = [cupy.cuda.Stream() for _ in range(_STREAMS)]
    under_way: deque[tuple[slice, Any, list[Any]]] = deque()

    def fetch() -> None:
        rows, stream, results = under_way.popleft()
        for target, result in zip((numbers, integers), results, strict=True):
            target[:, rows] = result.get(stream=stream)

    for begin, stream in zip(range(0, tracks.count, PART), cycle(streams), strict=False):
        rows = slice(begin, begin + PART)
        if len(under_way) == _STREAMS:
            fetch()
        with stream:
            under_way.append((rows, stream, kernel(tracks.rows(rows))))
    while under_way:
        fetch()
    return numbers, integers


def choose_backend(choice: BackendChoice) -> tuple[Backend, str]:
    """Choose the back end, and describe it: ``auto`` is the GPU if there is one, ``gpu`` requires one."""
    if choice == "cpu":
        return "cpu", "processor cores"
    try:
        return "gpu", device()
    except ParkfError as error:
        if choice == "gpu":
            raise
        return "cpu", f"processor cores ({error})"


def device() -> str:
    """Return the driver's name of the GPU that fits run on; raise a ParkfError without CuPy or a GPU."""
    runtime = _cupy().cuda.runtime
    return runtime.getDeviceProperties(runtime.getDevice())["name"].decode()


class Kernel:
    """A function of the kernel with the data that all tracks share, on the current GPU.

    `rows` are those of its results, numbers and integers. `first` are its arguments in front of the tracks.
    """

    def __init__(
        self,
        parameters: ParameterSet,
        real: np.dtype,
        function: str,
        *,
        file: str = "fit/fit.cu",
        rows: tuple[int, int] = (len(NUMBERS), len(INTEGERS)),
        first: tuple[Any, ...] = (),
        robust: bool = False,
        origin: Origin = "vertex",
    ) -> None:
        self.cupy = _cupy()
        constants = parameters.manifest.constants
        made_for = (
            parameters.constant.tobytes(),
            kernel_of(parameters.manifest),
            np.dtype(real).name,
            self.cupy.cuda.Device().id,
        )
        self.function = _module(*made_for, file).get_function(function)
        self.rows, self._first, self._real, self._again = rows, first, real.type, None
        if not first:
            # Prefer shared memory over cache: hits and coefficients lie in shared memory, and all other data
            # is read only once.
            self.function.preferred_shared_memory_carveout = 100
        if robust:
            # The second fits of single tracks are in a separate module, so that the plain fit does not have
            # to wait until this module is compiled.
            again = _module(*made_for, "fit/robust.cu")
            self.rows = len(NUMBERS + NUMBERS_BEFORE), len(INTEGERS + INTEGERS_BEFORE)
            self._again = again.get_function("choose_robust"), again.get_function("fit_robust")
        self._table = self.cupy.asarray(parameters.table)
        place = constants.beam_x, constants.beam_y
        shared = constants.velo_sigma**2, *place, constants.velo_loss, foil(origin)
        self._shared = [self._real(number) for number in shared]

    def __call__(self, tracks: Candidates) -> list[Any]:
        """Start a fit in the current stream; return numbers and integers, (rows, n) each, on the GPU."""
        count, threads = tracks.count, (THREADS_PER_BLOCK,)
        results = [
            self.cupy.empty((rows, count), dtype=kind)
            for rows, kind in zip(self.rows, (self._real, np.int32), strict=True)
        ]
        hits = (*tracks.velo, *tracks.ut, *tracks.scifi)
        arrays = [self._readable(a) for a in (tracks.polarity, tracks.qop, tracks.velo_n, *hits)]
        if not count:
            return results
        arguments = (*self._first, np.int64(count), *arrays, self._table, *self._shared, *results)
        self.function(_blocks(count), threads, arguments)
        if self._again:
            choose, fit_again = self._again
            chosen = self.cupy.empty(count, dtype=np.bool_)
            choose(_blocks(count), threads, (np.int64(count), *results, chosen))
            which = self.cupy.flatnonzero(chosen)
            if len(which):
                fit_again(_blocks(len(which)), threads, (np.int64(len(which)), which, *arguments))
        return results

    def _readable(self, array: Any) -> Any:
        """Make an array contiguous and aligned to 16 bytes, as the kernel reads several numbers at a time."""
        there = self.cupy.ascontiguousarray(self.cupy.asarray(array))
        return there if there.data.ptr % 16 == 0 else there.copy()


def _blocks(count: int) -> tuple[int]:
    return (-(-count // THREADS_PER_BLOCK),)


@lru_cache(maxsize=8)
def _module(blob: bytes, forms: str, precision: str, device: int, file: str) -> Any:
    """Compile a module for each constant blob, because constant memory belongs to the module."""
    cupy = _cupy()
    real = {"float32": "float", "float64": "double"}[precision]
    module = cupy.RawModule(code=flattened(forms, file), options=(*OPTIONS, f"-DPARKF_REAL={real}"))
    constants: NDArray[Any] = np.frombuffer(blob, dtype="<f4").astype(precision)
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
