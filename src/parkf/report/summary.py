"""The text that a run prints at its end."""

from pathlib import Path

from parkf.io.files import read_json
from parkf.proof.gates import Thresholds, hold


def summary(results: Path, thresholds: Thresholds) -> str:
    """Return paths of a run's results and its figures with bars; an unfinished run raises a ParkfError."""
    counts = read_json(results / "validation.json")["counts"]
    lines = [
        f"  {'met   ' if gate.met else 'MISSED'}  {gate.what}: {gate.measured} (bar {gate.bar})"
        for gate in hold(results / "set", thresholds)
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
