"""What the GPU's kernels need, counted by the compiler.

Run: python -m benchmarks.gpu_build [--architecture sm_90] [--json benchmarks/results/gpu_build.json]

nvcc compiles the same source as a run does, for both forms and both precisions. It needs no GPU. The number
of warps that a multiprocessor holds at a time follows from NVIDIA's limits (CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability"), since a block is one warp.

The file has registers, spills, shared memory and warps of each kernel.
"""

import hashlib
import re
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.command import parser, write

from parkf.fit.gpu import OPTIONS
from parkf.fit.source import flattened
from parkf.model.steps import FORMS

FILES = ("fit/fit.cu", "fit/robust.cu", "fit/kind.cu")
TYPES = {"float32": "float", "float64": "double"}
THREADS, PARTS = 32, 4  # threads of a warp, and parts of a multiprocessor
# Of a multiprocessor: 32-bit registers in four parts, given to the warps of a part in units of 256; blocks;
# shared memory in bytes, of which each block has 1 kB more than it asks for, in units of 128.
REGISTERS, REGISTER_UNIT = 65_536, 256
BLOCKS = {"sm_70": 32, "sm_80": 32, "sm_86": 16, "sm_90": 32}
SHARED = {"sm_70": 96 * 1024, "sm_80": 164 * 1024, "sm_86": 100 * 1024, "sm_90": 228 * 1024}
SHARED_UNIT, SHARED_OF_A_BLOCK = 128, 1024


@dataclass(frozen=True)
class Kernel:
    """What one kernel needs, each thread or block; sizes are in bytes."""

    name: str
    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int
    warps: int  # that a multiprocessor holds at a time


def compiled(forms: str, file: str, precision: str, architecture: str, *options: str) -> list[Kernel]:
    """Compile a source for an architecture, and read what the assembler reports of each of its kernels.

    `options` are further ones of nvcc. A RuntimeError has the compiler's words where it refuses the source or
    warns.
    """
    # Warning 177 is about constants of the headers that the GPU does not use.
    flags = [*OPTIONS, "-diag-suppress=177", f"-arch={architecture}", "-Xptxas=-v", "-cubin", *options]
    with tempfile.TemporaryDirectory(prefix="parkf-gpu-") as folder:
        source = Path(folder) / "source.cu"
        source.write_text(flattened(forms, file), "utf-8")
        command = ["nvcc", *flags, f"-DPARKF_REAL={TYPES[precision]}", str(source), "-o", "source.cubin"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or "warning" in done.stderr:
        raise RuntimeError(done.stderr)
    return [_kernel(text, architecture) for text in done.stderr.split("Compiling entry function ")[1:]]


def _kernel(text: str, architecture: str) -> Kernel:
    def number(pattern: str) -> int:
        found = re.search(pattern, text)
        return int(found[1]) if found else 0

    registers, shared = number(r"Used (\d+) registers"), number(r"(\d+) bytes smem")
    return Kernel(
        name=text.split("'")[1],
        registers=registers,
        stack=number(r"(\d+) bytes stack frame"),
        spill_stores=number(r"(\d+) bytes spill stores"),
        spill_loads=number(r"(\d+) bytes spill loads"),
        shared=shared,
        warps=warps(registers, shared, architecture),
    )


def warps(registers: int, shared: int, architecture: str) -> int:
    """Count the warps of a multiprocessor, by registers a thread and shared bytes a block of one warp."""
    of_a_warp = -(-registers * THREADS // REGISTER_UNIT) * REGISTER_UNIT
    of_a_block = -(-shared // SHARED_UNIT) * SHARED_UNIT + SHARED_OF_A_BLOCK
    by_registers = PARTS * (REGISTERS // PARTS // of_a_warp)
    return min(BLOCKS[architecture], by_registers, SHARED[architecture] // of_a_block)


def source_of(forms: str, file: str) -> str:
    """Return a fingerprint of a source, which tells whether stored figures are today's."""
    return hashlib.sha256(flattened(forms, file).encode()).hexdigest()[:16]


def version() -> str:
    """Return the version of nvcc, such as ``V13.0.88``."""
    said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"V\d[\d.]+", said)[-1]


def main() -> None:
    """Print what each kernel needs."""
    line = parser("Count what the GPU's kernels need.")
    line.add_argument("--architecture", choices=sorted(SHARED), default="sm_90")
    options = line.parse_args()
    kernels = []
    print("| forms | precision | kernel | registers | stack | spilled | shared | warps |")
    print("|---|---|---|---|---|---|---|---|")
    for forms in sorted(FORMS):
        for file in FILES:
            for precision in TYPES:
                for one in compiled(forms, file, precision, options.architecture):
                    of = {"forms": forms, "file": file, "source": source_of(forms, file)}
                    kernels.append({**of, "precision": precision, **asdict(one)})
                    print(
                        f"| {forms} | {precision} | {one.name} | {one.registers} | {one.stack} B"
                        f" | {one.spill_stores} B | {one.shared} B | {one.warps} |",
                        flush=True,
                    )
    content = {"nvcc": version(), "architecture": options.architecture, "kernels": kernels}
    write(options.json, content)


if __name__ == "__main__":
    main()
