"""Stage ``throughput``: the speed of the fit on this machine."""

from parkf.io.files import write_sealed
from parkf.proof.validation.throughput import measure_throughput
from parkf.stages.files import AllRead, Made, set_folder


def throughput(*, set: AllRead, candidates: AllRead, output: Made, threads: int = 1) -> None:
    """Time the fit of candidates in memory, on one thread and on several, in float32 and float64."""
    write_sealed(output, measure_throughput(set_folder(set), candidates, threads=threads))
