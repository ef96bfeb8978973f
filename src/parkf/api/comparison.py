"""Comparison of runs and sets with the first of them."""

from pathlib import Path

from parkf.io.project import found
from parkf.params.registry import readable_registry
from parkf.proof.comparing import Comparison, compare_subjects, load_subject
from parkf.proof.gates import GATES_FILE, load_thresholds


def compare(first: str | Path, *others: str | Path) -> Comparison:
    """Compare runs and published sets with the first one, in inputs, code and figures.

    Each of them is the name of a published set, or the folder of a run or a set; anything else, or a damaged
    file, raises a ParkfError. ``print`` shows the result as ``parkf compare`` does, and its method
    ``content`` returns all numbers.
    """
    thresholds, registry = load_thresholds(found(GATES_FILE)), readable_registry()
    return compare_subjects([load_subject(str(one), thresholds, registry) for one in (first, *others)])
