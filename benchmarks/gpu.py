"""Speed of the fit on the GPU of this machine, beside the GPU's limits; `device` is None without a GPU."""

import subprocess
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from benchmarks.machine import REPEATS

from parkf.fit import gpu
from parkf.fit.candidates import Candidates
from parkf.params.parameter_set import ParameterSet

# Numbers of tracks: in the GPU's memory, and in host arrays.
SIZES, COPIED = (1_000, 10_000, 100_000, 1_000_000, 10_000_000), 1_000_000
_CHAINS, _TURNS, _THREADS, _BLOCKS = 8, 4096, 256, 4096
_MULTIPLY_ADD = f"""
extern "C" __global__ void multiply_add(REAL* out, REAL factor, REAL term) {{
  REAL sums[{_CHAINS}];
  for (int i = 0; i < {_CHAINS}; ++i) sums[i] = threadIdx.x + i;
  for (int turn = 0; turn < {_TURNS}; ++turn) {{
    #pragma unroll
    for (int i = 0; i < {_CHAINS}; ++i) sums[i] = sums[i] * factor + term;
  }}
  REAL all = 0;
  for (int i = 0; i < {_CHAINS}; ++i) all += sums[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}}
"""


def device() -> str | None:
    """Name of the GPU, or None without one or without CuPy."""
    try:
        import cupy

        return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    except ImportError:
        return None
    except cupy.cuda.runtime.CUDARuntimeError:
        return None


def measure(parameters: ParameterSet, tracks: Candidates, flops: float) -> dict[str, Any]:
    """Rates with tracks on the GPU, and with copies from and to the host; clock, registers and occupancy.

    The same `tracks` are fitted repeatedly. The fit takes `flops` operations per track.
    """
    import cupy

    def to_count(array: np.ndarray, count: int, module: Any) -> Any:
        repeats = -(-count // len(array))
        return module.tile(module.asarray(array), (repeats, 1) if array.ndim == 2 else repeats)[:count]

    def candidates(count: int, module: Any) -> Candidates:
        singles = [to_count(a, count, module) for a in (tracks.polarity, tracks.qop, tracks.velo_n)]
        groups = [
            tuple(to_count(a, count, module) for a in group)
            for group in (tracks.velo, tracks.ut, tracks.scifi)
        ]
        return Candidates(*singles, *groups)

    before = _clock()
    batch = {}
    for size in SIZES:
        resident = candidates(size, cupy)
        batch[str(size)] = size / _seconds(cupy, partial(gpu.fit, parameters, resident, smoother=True))
    rate = batch[str(SIZES[-1])]
    after = _clock()
    copied = candidates(COPIED, np)
    end_to_end = COPIED / _seconds(cupy, lambda: gpu.fit(parameters, copied, smoother=True))
    real = tracks.qop.dtype
    peak = _peak(cupy, real)
    function = gpu.Kernel(parameters, real, "fit_smoother").function
    blocks = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
        function.kernel.ptr, gpu.THREADS_PER_BLOCK, 0
    )
    threads = cupy.cuda.runtime.getDeviceProperties(0)["maxThreadsPerMultiProcessor"]
    return {
        "tracks_per_s": rate,
        "batch": batch,
        "clock_mhz": {"before": before, "after": after},
        "tracks_per_s_with_copies": end_to_end,
        "floor_ratio": peak / flops / rate,
        "peak_flops": peak,
        "copy_bytes_per_s": _copy(cupy),
        "registers": function.num_regs,
        "local_bytes": function.local_size_bytes,
        "shared_bytes": function.shared_size_bytes,
        "occupancy": blocks * gpu.THREADS_PER_BLOCK / threads,
    }


def _seconds(cupy: Any, run: Callable[[], object]) -> float:
    """Median time by the GPU's own clock, after a run that compiles and fills the memory pool."""
    run()
    times = []
    for _ in range(REPEATS):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return median(times)


def _clock() -> float | None:
    """Clock of the multiprocessors in MHz, or None where NVIDIA's tool is missing."""
    try:
        command = ["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits", "--id=0"]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except FileNotFoundError:
        return None


def _peak(cupy: Any, real: np.dtype) -> float:
    name = {"float32": "float", "float64": "double"}[real.name]
    kernel = cupy.RawKernel(_MULTIPLY_ADD, "multiply_add", options=(f"-DREAL={name}", "--fmad=true"))
    out = cupy.empty(_BLOCKS * _THREADS, dtype=real)
    arguments = (out, real.type(0.999), real.type(0.001))
    taken = _seconds(cupy, lambda: kernel((_BLOCKS,), (_THREADS,), arguments))
    return 2.0 * _CHAINS * _TURNS * _BLOCKS * _THREADS / taken


def _copy(cupy: Any) -> float:
    """Bytes that a copy reads and writes per second."""
    source = cupy.ones(1 << 28, dtype=np.float32)
    target = cupy.empty_like(source)
    return float(2 * source.nbytes / _seconds(cupy, lambda: cupy.copyto(target, source)))
