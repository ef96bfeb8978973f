"""What the numbers of a parameter set are: their block, set, index, name and unit.

Order and shapes come from :mod:`parkf.steps.forms`, since the kernel is generated from the same list.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from parkf.steps import TABLE_SHAPE, Forms
from parkf.steps.magnet import BINS, TableForm

assert TABLE_SHAPE == (60, 50, 80), f"the trigger's table is 60×50×80, the blocks give {TABLE_SHAPE}"


@dataclass(frozen=True)
class Number:
    """One number of a parameter set.

    Attributes
    ----------
    block, set, index : str, str, int
        Where it lies: `index` counts within the set.
    name, unit, text : str
        What it is.
    """

    block: str
    set: str
    index: int
    name: str
    unit: str
    text: str


def constant_numbers(forms: Forms) -> Iterator[Number]:
    """Yield the numbers of the constant blob in their order."""
    for b in forms.blocks:
        for label in b.sets:
            for index, (name, unit, text) in enumerate(b.columns):
                yield Number(b.name, label, index, name, unit, text)


def table_numbers(form: TableForm) -> Iterator[Number]:
    """Yield the 240,000 numbers in their order: bins in x outermost, then bins in y, then coefficients."""
    kinds = list(_coefficients(form))
    for i in range(BINS[0]):
        for j in range(BINS[1]):
            for index, (name, unit, text) in enumerate(kinds):
                yield Number("UTT", f"bin {i},{j}", index, name, unit, text)


def _coefficients(form: TableForm) -> Iterator[tuple[str, str, str]]:
    """Name, unit and text of a bin's 80 coefficients."""
    suffix = {"1": "00", "u_x": "10", "u_y": "01"}
    for piece in form.pieces:
        unit = "mm" if piece.component in ("x", "y") else "rad"
        for power in range(1, piece.degree + 1):
            factor = "" if piece.factor == "1" else f"{piece.factor}·"
            yield (
                f"{piece.component}{suffix[piece.factor]}[{power}]",
                unit,
                f"{piece.component}, {factor}f^{power}",
            )
