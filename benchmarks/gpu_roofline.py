"""How many tracks a second a GPU could fit, from its limits and from what the compiled fit of a track needs.

The instructions of the machine code are counted, and `benchmarks.machine` counts the operations of a track.
Copies between kinds of memory run once. All other instructions are assumed to run as often as the
multiplications and additions. Fits of tracks in the GPU's memory are limited by

- issue: each of the four parts of a multiprocessor starts one instruction in a cycle, and a warp at most one
  in the four cycles that a multiplication takes;
- arithmetic: multiplications, additions and multiply-adds;
- memory: rows of hits are read once, and results are written once;
- table: six bins of the magnet's table for each track come from the second-level cache.

Waiting for memory is not in the model, and a GPU's clock falls under load.
"""

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.io.planes import SCIFI_LAYERS, UT_LAYERS
from parkf.io.tables import VELO_SLOTS

# Threads of a warp, parts of a multiprocessor, and cycles between instructions that depend on each other.
THREADS, PARTS, LATENCY = 32, 4, 4
BINS = 6  # that the coefficients of a track are mixed from


@dataclass(frozen=True)
class Device:
    """Limits of a GPU.

    Multiprocessors, highest clock and memory are from NVIDIA's data sheets. The second-level cache's are from
    the white papers of V100 and A100; an H200 is given that of an A100.
    """

    generation: str  # compute capability
    architecture: str  # that the kernel is compiled for
    multiprocessors: int
    clock: float  # Hz
    lanes: dict[str, int]  # multiply-adds of a multiprocessor in a cycle
    memory: float  # B/s
    cache: int  # bytes in a cycle


DEVICES = {
    "H200": Device("sm_90", "sm_90", 132, 1.98e9, {"float32": 128, "float64": 64}, 4.8e12, 5120),
    "A100": Device("sm_80", "sm_80", 108, 1.41e9, {"float32": 64, "float64": 32}, 1.555e12, 5120),
    # CUDA 13 compiles for Turing and newer: a V100 has the instructions of an A100.
    "V100": Device("sm_70", "sm_80", 80, 1.53e9, {"float32": 64, "float64": 32}, 0.9e12, 2048),
}

# Of a track: coordinates of VELO, UT and SciFi hits, and polarity and q/p; then the number of VELO hits.
_NUMBERS_READ, _INTEGERS_READ = 3 * VELO_SLOTS + 4 * (UT_LAYERS + SCIFI_LAYERS) + 2, 1
_OPERATIONS = {"FADD": 1, "FMUL": 1, "FFMA": 2, "DADD": 1, "DMUL": 1, "DFMA": 2}
# Between the hits' rows and shared memory.
_COPIES = ("LDG", "STS")


@dataclass(frozen=True)
class Track:
    """What the fit of one track needs."""

    instructions: float
    operations: float  # multiplications and additions
    arithmetic: float  # instructions that multiply or add
    bytes: int  # from and to the GPU's memory
    table_bytes: int

    @classmethod
    def of(cls, mix: Counter[str], operations: float, precision: str, coefficients: int) -> "Track":
        """Return what a fit of so many `operations` needs.

        Its machine code has the `mix` of instructions, and a bin of the table has `coefficients`.
        """
        written = sum(count * mix[name] for name, count in _OPERATIONS.items())
        copies = sum(mix[name] for name in _COPIES)
        repeated = operations / written
        item = 4 if precision == "float32" else 8
        return cls(
            instructions=(sum(mix.values()) - copies) * repeated + copies,
            operations=operations,
            arithmetic=sum(mix[name] for name in _OPERATIONS) * repeated,
            bytes=item * (_NUMBERS_READ + len(NUMBERS)) + 4 * (_INTEGERS_READ + len(INTEGERS)),
            table_bytes=BINS * coefficients * 4,
        )


def limits(track: Track, device: Device, precision: str, warps: int) -> dict[str, float]:
    """Return the tracks a second that each limit allows; the smallest is the prediction."""
    cycles = device.multiprocessors * device.clock
    started = PARTS * THREADS * min(1.0, warps / PARTS / LATENCY)
    return {
        "issue": cycles * started / track.instructions,
        "arithmetic": cycles * device.lanes[precision] / track.arithmetic,
        "memory": device.memory / track.bytes,
        "table": device.cache * device.clock / track.table_bytes,
    }


def disassembler() -> str:
    """Return the path of nvdisasm; a SystemExit says how to install it where it is missing."""
    found = shutil.which("nvdisasm")
    if found is None:
        raise SystemExit(
            "no nvdisasm: install CUDA's, or `pip install nvidia-cuda-nvdisasm`, and add it to PATH"
        )
    return found


def mixes(cubin: Path) -> dict[str, Counter[str]]:
    """Count the instructions of each kernel in a compiled file."""
    command = [disassembler(), "-c", str(cubin)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    parts = re.split(r"\.section\s+\.text\.(\w+)", text)[1:]
    instruction = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ +)?([A-Z][A-Z0-9]+)")
    found = {
        name: Counter(instruction.findall(code)) for name, code in zip(parts[::2], parts[1::2], strict=True)
    }
    for mix in found.values():
        del mix["NOP"]
    return found
