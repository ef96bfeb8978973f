"""The machine's limits and the dense baseline, from machine.cpp compiled for this very machine."""

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from parkf.choices import FormsName
from parkf.kalman.candidates import Candidates
from parkf.kalman.source import KERNEL_FOLDER

REPEATS = 7
OPERATIONS = ("additions", "multiplications", "divisions", "roots")
# Without vectors, which the baseline would lose by: compilers find them in its matrices, and shuffle.
_FLAGS = (
    *("-std=c++17", "-O3", "-march=native", "-fno-tree-vectorize", "-fno-tree-slp-vectorize"),
    *("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"),
)
_C_TYPE = {np.dtype("float32"): ctypes.c_float, np.dtype("float64"): ctypes.c_double}


def seconds_of(
    runs: Sequence[Callable[[], object]], clock: Callable[[], float] = time.thread_time
) -> list[float]:
    """Median times of several runs, which take turns: what slows the machine for a while slows all of them.

    The thread's own clock stands still while others have the core.
    """
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(REPEATS):
        for run, of_run in zip(runs, times, strict=True):
            begin = clock()
            run()
            of_run.append(clock() - begin)
    return [median(of_run) for of_run in times]


def seconds(run: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    """Median time of a run."""
    return seconds_of([run], clock)[0]


def processor() -> str:
    """Name the processor as the system does."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor()
    said = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", info.read_text(), re.MULTILINE))
    return ", ".join(f"{name.removeprefix('cpu ')} {value}" for name, value in said.items())


class Machine:
    """What is compiled from machine.cpp."""

    def __init__(self, forms: FormsName) -> None:
        compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
        if compiler is None:
            sys.exit("benchmarks.fitter: no C++ compiler; install one or set CXX")
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "machine.so"
            source = Path(__file__).with_name("machine.cpp")
            command = [compiler, *_FLAGS, f"-I{KERNEL_FOLDER}", f"-I{KERNEL_FOLDER / forms}", source]
            subprocess.run([*command, "-shared", "-fPIC", "-o", library], check=True)
            self._library = ctypes.CDLL(str(library))
        for name in ("float", "double"):
            function = getattr(self._library, f"multiply_add_{name}")
            function.argtypes, function.restype = [ctypes.c_long], ctypes.c_double

    def multiply_adds(self, precision: str) -> float:
        """Do nothing but multiply-adds for a while, and give how many floating-point operations that were."""
        name = "multiply_add_" + {"float32": "float", "float64": "double"}[precision]
        return float(getattr(self._library, name)(4_000_000))

    def two_thread_peak(self, precision: str) -> float:
        """How many times the multiply-adds of one thread two do: the most that a speedup can be."""

        def run(threads: int) -> None:
            team = [threading.Thread(target=self.multiply_adds, args=(precision,)) for _ in range(threads)]
            for thread in team:
                thread.start()
            for thread in team:
                thread.join()

        one, two = seconds_of([lambda n=n: run(n) for n in (1, 2)], time.perf_counter)
        return 2 * one / two

    def copy_bandwidth(self) -> float:
        """Bytes read and written a second by a copy that no cache holds."""
        source = np.ones(1 << 27, dtype=np.uint8)
        target = np.zeros_like(source)
        size = ctypes.c_long(source.nbytes)
        pointers = (target.ctypes.data_as(ctypes.c_void_p), source.ctypes.data_as(ctypes.c_void_p))
        return 2 * source.nbytes / seconds(lambda: self._library.copy(*pointers, size))

    def _arguments(self, tracks: Candidates, constant: np.ndarray, table: np.ndarray) -> list[object]:
        def pointer(array: np.ndarray) -> ctypes.c_void_p:
            return array.ctypes.data_as(ctypes.c_void_p)

        hits = [pointer(a) for a in (*tracks.velo, *tracks.ut, *tracks.scifi)]
        rows = (ctypes.c_void_p * len(hits))(*hits)
        return [
            *(ctypes.c_long(tracks.count), pointer(tracks.polarity), pointer(tracks.qop)),
            *(pointer(tracks.velo_n), rows, pointer(constant), pointer(table)),
        ]

    def dense(
        self, tracks: Candidates, constant: np.ndarray, table: np.ndarray, velo_sigma: float
    ) -> np.ndarray:
        """Fit by the dense baseline: (n, 11), the last column χ²."""
        real = _C_TYPE[tracks.qop.dtype]
        results = np.empty((tracks.count, 11), dtype=tracks.qop.dtype)
        numbers = constant.astype(tracks.qop.dtype)
        function = self._library.dense_float if real is ctypes.c_float else self._library.dense_double
        arguments = self._arguments(tracks, numbers, table)
        function(*arguments, real(velo_sigma**2), results.ctypes.data_as(ctypes.c_void_p))
        return results

    def operations(
        self,
        tracks: Candidates,
        constant: np.ndarray,
        table: np.ndarray,
        velo_sigma: float,
        *,
        smoother: bool,
    ) -> dict[str, float]:
        """Operations a track of the kernel, counted by running it with a number that counts."""
        done = (ctypes.c_long * len(OPERATIONS))()
        arguments = self._arguments(tracks, constant, table)
        self._library.count_operations(*arguments, ctypes.c_float(velo_sigma**2), int(smoother), done)
        return {name: count / tracks.count for name, count in zip(OPERATIONS, done, strict=True)}
