"""Comparison of runs and sets with the first of them."""

from pathlib import Path

from parkf.io.project import found
from parkf.params.registry import FOLDER, SHIPPED, Registry
from parkf.proof.comparing import Comparison, compare_subjects, load_subject
from parkf.proof.gates import GATES_FILE, load_thresholds


def compare(first: str | Path, *others: str | Path) -> Comparison:
    """Compare runs and published sets with the first one, in inputs, code and figures.

    Parameters
    ----------
    first, others : str or Path
        Names of published sets, or folders of runs or sets.

    Returns
    -------
    Comparison
        ``print`` shows it as ``parkf compare`` does; ``content()`` returns all numbers.

    Raises
    ------
    ParkfError
        When one of them is neither, or a file of it is damaged.
    """
    thresholds = load_thresholds(found(GATES_FILE))
    registry = Registry(FOLDER if FOLDER.is_dir() else SHIPPED)
    return compare_subjects([load_subject(str(one), thresholds, registry) for one in (first, *others)])
