"""The pages of a run."""

from parkf.io.terminal import say
from parkf.proof.gates import load_thresholds
from parkf.report.pages import write_report
from parkf.stages.files import AllMade, AllRead, Made, Read


def report(
    *,
    geometry: Read,
    alignment: Read,
    gates: Read,
    reads: AllRead,
    index: Made,
    outputs: AllMade,
    threads: int = 1,
) -> None:
    """Write the pages of the run that the figures in `reads` are of."""
    run = next(path.parent for path in reads if path.name == "validation.json")
    inputs = {"geometry": geometry, "alignment": alignment}
    write_report(run, index, load_thresholds(gates), inputs=inputs, threads=threads)
    say(f"{index}: {len(outputs)} files and folders written")
