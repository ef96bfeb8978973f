"""The machine's limits and the dense baseline, from machine.cpp, which is compiled for this machine."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from parkf.fit.candidates import Candidates
from parkf.fit.source import KERNEL_FOLDER
from parkf.io.kinds import KINDS
from parkf.io.option_types import FormsName
from parkf.params.slices import MagnetSlices

REPEATS = 7
# On a core that another program uses as well, the probe takes a third longer or twice as long.
_UNDISTURBED = 1.05
_PATIENCE_S = 6.0
OPERATIONS = ("additions", "multiplications", "divisions", "roots")
# The baseline is compiled without vector instructions, because they slow it down: compilers use them for the
# small matrices and then spend time on shuffling numbers.
_FLAGS = (
    *("-std=c++17", "-O3", "-march=native", "-fno-tree-vectorize", "-fno-tree-slp-vectorize"),
    *("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"),
)
_C_TYPE = {np.dtype("float32"): ctypes.c_float, np.dtype("float64"): ctypes.c_double}


@dataclass(frozen=True)
class Measured:
    """Median of the least disturbed repeats, and the longest time of their probe over its shortest time."""

    value: float
    disturbance: float


class Machine:
    """The functions of machine.cpp, compiled."""

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

    def timings(self, runs: Sequence[Callable[[], object]], *, cores: int = 1) -> list[Measured]:
        """Seconds of runs that alternate until each had the cores to itself REPEATS times, or patience ends.

        A probe before and after a run, not the run's own time, decides whether the run had the cores to
        itself. On one core the clock is the thread's, which stops while other programs use the core. On more
        cores it is the wall clock.
        """
        clock = time.thread_time if cores == 1 else time.perf_counter
        repeats = _repeated(lambda: [self._timed(run, clock, cores) for run in runs])
        return [_median(_least_disturbed(of_run)) for of_run in repeats]

    def seconds(self, run: Callable[[], object], *, cores: int = 1) -> float:
        """Seconds of a run, as undisturbed as possible."""
        return self.timings([run], cores=cores)[0].value

    def two_thread_speedup(self, run: Callable[[int], object]) -> tuple[Measured, float]:
        """Speedups of two threads over one that runs on either core in turn, and over one on any core.

        Cores may differ: one that another program uses is slower, and a free thread mostly runs on the
        faster one. The first speedup is a median over undisturbed rounds, or over all rounds if there were
        fewer than REPEATS undisturbed ones when patience ends. The second is the ratio of the medians of all
        repeats.
        """
        run(2)  # threads that stay must not be bound to a core

        def round_of() -> list[Measured]:
            bound, two = [], []
            for core in _two_cores():
                bound.append(self._timed(lambda: run(1), time.perf_counter, 2, on=core))
                two.append(self._timed(lambda: run(2), time.perf_counter, 2))
            free = self._timed(lambda: run(1), time.perf_counter, 2)
            ratio = sum(timed.value for timed in bound) / sum(timed.value for timed in two)
            disturbance = max(timed.disturbance for timed in bound + two)
            return [Measured(ratio, disturbance), *(Measured(t.value, disturbance) for t in (free, *two))]

        ratios, free, *twos = _repeated(round_of)
        two = median(timed.value for of_two in twos for timed in of_two)
        return _median(_least_disturbed(ratios) if _enough(ratios) else ratios), _median(free).value / two

    def _timed(
        self, run: Callable[[], object], clock: Callable[[], float], cores: int, on: int | None = None
    ) -> Measured:
        before = self._disturbance(cores)
        with _bound_to(on):
            begin = clock()
            run()
            seconds = clock() - begin
        return Measured(seconds, max(before, self._disturbance(cores)))

    def _disturbance(self, cores: int) -> float:
        taken = float(self._library.probe(cores))
        self._shortest = min(self._shortest, taken)
        return taken / self._shortest

    def multiply_adds(self, precision: str, threads: int = 1) -> float:
        """Do nothing but multiply-adds for a while; return the number of floating-point operations."""
        name = "multiply_adds_" + {"float32": "float", "float64": "double"}[precision]
        return float(getattr(self._library, name)(4_000_000, threads))

    def two_thread_peak(self, precision: str) -> float:
        """Speedup of bare multiply-adds, which is an upper limit for other code."""
        return 2 * self.two_thread_speedup(lambda threads: self.multiply_adds(precision, threads))[0].value

    def copy_bandwidth(self) -> float:
        """Bytes that a copy larger than any cache reads and writes per second."""
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
        """Fit with the dense baseline; return (n, 11), of which the last column is χ²."""
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
        """Operations of the kernel per track, counted by a number type that counts its own operations."""
        done = (ctypes.c_long * len(OPERATIONS))()
        arguments = self._arguments(tracks, constant, table)
        self._library.count_operations(*arguments, ctypes.c_float(velo_sigma**2), int(smoother), done)
        return {name: count / tracks.count for name, count in zip(OPERATIONS, done, strict=True)}

    def kind_operations(
        self,
        tracks: Candidates,
        constant: np.ndarray,
        table: np.ndarray,
        velo_sigma: float,
        kind: str,
        slices: MagnetSlices,
    ) -> dict[str, float]:
        """Count the operations of a fit of a kind of tracks besides long ones."""
        numbers, place, centre, _ = slices.for_kernel
        done = (ctypes.c_long * len(OPERATIONS))()
        given = [np.array(place), centre, np.ascontiguousarray(numbers)]
        self._library.count_kind_operations(
            *self._arguments(tracks, constant, table),
            ctypes.c_float(velo_sigma**2),
            list(KINDS).index(kind),
            len(centre),
            *(array.ctypes.data_as(ctypes.c_void_p) for array in given),
            done,
        )
        return {name: count / tracks.count for name, count in zip(OPERATIONS, done, strict=True)}


def _repeated(take: Callable[[], list[Measured]]) -> list[list[Measured]]:
    """Repeats of each figure that `take` returns, at least REPEATS undisturbed ones if patience allows."""
    repeats: list[list[Measured]] = []
    end = time.perf_counter() + _PATIENCE_S
    while len(repeats) < REPEATS or (
        time.perf_counter() < end and not all(map(_enough, zip(*repeats, strict=True)))
    ):
        repeats.append(take())
    return [list(of_one) for of_one in zip(*repeats, strict=True)]


def _least_disturbed(repeats: list[Measured]) -> list[Measured]:
    return sorted(repeats, key=lambda repeat: repeat.disturbance)[:REPEATS]


def _enough(repeats: Iterable[Measured]) -> bool:
    return sum(repeat.disturbance < _UNDISTURBED for repeat in repeats) >= REPEATS


def _median(repeats: list[Measured]) -> Measured:
    return Measured(median(r.value for r in repeats), max(r.disturbance for r in repeats))


def _two_cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))[:2] if hasattr(os, "sched_getaffinity") else [0, 1]


@contextmanager
def _bound_to(core: int | None) -> Iterator[None]:
    """Bind this thread to a core, if one is named and the system can do so."""
    if core is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
