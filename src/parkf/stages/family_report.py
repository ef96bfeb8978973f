"""Stage ``family_report``: the page of a family of runs."""

from pathlib import Path

from parkf.proof.gates import load_thresholds
from parkf.report.family import write_family
from parkf.stages.files import AllRead, Made, Read


def family_report(*, runs: list[str], reads: AllRead, gates: Read, output: Made) -> None:
    """Write the page that compares the runs of a family, folders whose reports are `reads`."""
    write_family([Path(run) for run in runs], output, load_thresholds(gates))
