"""Stage ``family_report``: the page of a family of runs."""

from pathlib import Path

from parkf.proof.gates import load_thresholds
from parkf.report.family import write_family
from parkf.stages.files import Made, Read


def family_report(*, runs: list[str], gates: Read, output: Made) -> None:
    """Write the page that compares the runs of a family, which are folders of finished runs."""
    write_family([Path(run) for run in runs], output, load_thresholds(gates))
