"""The machine's limits and the dense baseline, from machine.cpp compiled for this very machine."""

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from parkf.choices import FormsName
from parkf.kalman.candidates import Candidates
from parkf.kalman.source import KERNEL_FOLDER

REPEATS = 7
# A core shared with a neighbour takes a third longer for the probe, or twice as long.
_UNDISTURBED = 1.05
_PATIENCE_S = 5.0
OPERATIONS = ("additions", "multiplications", "divisions", "roots")
# Without vectors, which the baseline would lose by: compilers find them in its matrices, and shuffle.
_FLAGS = (
    *("-std=c++17", "-O3", "-march=native", "-fno-tree-vectorize", "-fno-tree-slp-vectorize"),
    *("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"),
)
_C_TYPE = {np.dtype("float32"): ctypes.c_float, np.dtype("float64"): ctypes.c_double}


def processor() -> str:
    """Name the processor as the system does."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor()
    said = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", info.read_text(), re.MULTILINE))
    return ", ".join(f"{name.removeprefix('cpu ')} {value}" for name, value in said.items())


@dataclass(frozen=True)
class Timing:
    """Of a run: median seconds, of the repeats that others disturbed least and of all; how much they did.

    The probe took at most `disturbance` times its shortest time before and after those repeats.
    """

    seconds: float
    as_found: float
    disturbance: float


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
            function = getattr(self._library, f"multiply_adds_{name}")
            function.argtypes, function.restype = [ctypes.c_long, ctypes.c_int], ctypes.c_double
        self._library.probe.argtypes, self._library.probe.restype = [ctypes.c_int], ctypes.c_double
        self._shortest = min(self._library.probe(1) for _ in range(100))

    def timings(self, runs: Sequence[Callable[[], object]], *, cores: int = 1) -> list[Timing]:
        """Time runs by turns, until each had the cores to itself REPEATS times, or for five seconds a core.

        Whether it had them says not its own time but that of a probe, before and after. The clock is that of
        the thread on one core, which stands still while others have it, and that on the wall on more.
        """
        clock = time.thread_time if cores == 1 else time.perf_counter
        taken: list[list[tuple[float, float]]] = [[] for _ in runs]
        end = time.perf_counter() + cores * _PATIENCE_S

        def enough() -> bool:
            undisturbed = min(sum(probe < _UNDISTURBED for probe, _ in of_run) for of_run in taken)
            return undisturbed >= REPEATS or (len(taken[0]) >= REPEATS and time.perf_counter() > end)

        while not enough():
            for run, of_run in zip(runs, taken, strict=True):
                before = self._disturbance(cores)
                begin = clock()
                run()
                time_taken = clock() - begin
                of_run.append((max(before, self._disturbance(cores)), time_taken))
        return [_timing(of_run) for of_run in taken]

    def seconds(self, run: Callable[[], object], *, cores: int = 1) -> float:
        """Median time of a run, as undisturbed as it gets."""
        return self.timings([run], cores=cores)[0].seconds

    def _disturbance(self, cores: int) -> float:
        taken = float(self._library.probe(cores))
        self._shortest = min(self._shortest, taken)
        return taken / self._shortest

    def multiply_adds(self, precision: str, threads: int = 1) -> float:
        """Do nothing but multiply-adds for a while, and give how many floating-point operations that were."""
        name = "multiply_adds_" + {"float32": "float", "float64": "double"}[precision]
        return float(getattr(self._library, name)(4_000_000, threads))

    def two_thread_peak(self, precision: str) -> float:
        """How many times the multiply-adds of one thread two do: the most that a speedup can be."""
        one, two = self.timings([lambda n=n: self.multiply_adds(precision, n) for n in (1, 2)], cores=2)
        return 2 * one.seconds / two.seconds

    def copy_bandwidth(self) -> float:
        """Bytes read and written a second by a copy that no cache holds."""
        source = np.ones(1 << 27, dtype=np.uint8)
        target = np.zeros_like(source)
        size = ctypes.c_long(source.nbytes)
        pointers = (target.ctypes.data_as(ctypes.c_void_p), source.ctypes.data_as(ctypes.c_void_p))
        return 2 * source.nbytes / self.seconds(lambda: self._library.copy(*pointers, size))

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


def _timing(repeats: list[tuple[float, float]]) -> Timing:
    """From disturbances and times."""
    least = sorted(repeats)[:REPEATS]
    return Timing(median(t for _, t in least), median(t for _, t in repeats), least[-1][0])
