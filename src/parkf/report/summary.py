"""What a run ends with on the terminal."""

from pathlib import Path

from parkf.files import read_json
from parkf.report.verdict import verdict


def summary(results: Path) -> str:
    """Say where parameter set, numbers and report lie, and how the figures stand against their bars.

    Raises
    ------
    ParkfError
        When the run has not ended.
    """
    validation = read_json(results / "validation.json")
    accuracy = read_json(results / "accuracy.json")
    counts = validation["counts"]
    lines = [
        f"  {'met   ' if line.met else 'MISSED'}  {line.what}: {line.measured} (bar {line.bar})"
        for line in verdict(validation, accuracy["table"]["fiducial"])
    ]
    return "\n".join(
        [
            f"{counts['genuine']} genuine tracks, {counts['ghost']} ghosts",
            *lines,
            f"parameter set       {results / 'set'}",
            f"validation numbers  {results / 'validation.json'}",
            f"step accuracy       {results / 'accuracy.json'}",
            f"report              {results / 'report/index.html'}",
        ]
    )
