"""The printed table of a parameter set: meaning, value and error of each number."""

from collections.abc import Iterator
from pathlib import Path

from parkf.params.description import constant_numbers, slice_numbers, table_numbers
from parkf.params.manifest import numbers_in
from parkf.params.parameter_set import load

# Columns of a row. The error is None for numbers that no fit determined: numbers of the geometry, and fixed
# or unused ones. It is also None for the magnet table. There the coefficients of a polynomial are strongly
# correlated, and only the polynomial matters; the accuracy is measured on independent rays.
COLUMNS = ("block", "set", "index", "name", "value", "unit", "error", "text")
Explained = tuple[str, str, int, str, float, str, float | None, str]


def explain(
    parameters: Path, *, fits: Path | None = None, table: bool = False, slices: bool = False
) -> Iterator[Explained]:
    """Yield a row of :data:`COLUMNS` for each number of the set in a folder, in their order.

    Errors are those of the fits in folder `fits`; with `table`, the 240,000 numbers of the magnet table are
    included, with `slices` those of the steps inside the magnet, if the set has them.
    """
    loaded = load(parameters)
    errors = {}
    if fits is not None:
        # This import builds the formulas, which only the errors need.
        from parkf.training.assembly import errors_of

        errors = errors_of(loaded, fits)
    for n, value in zip(constant_numbers(loaded.layout), loaded.constant, strict=True):
        error = errors.get((n.block, n.set, n.index))
        yield n.block, n.set, n.index, n.name, float(value), n.unit, error, n.text
    more = (loaded.rich, loaded.manifest.electron)
    blocks = [block for part in more if part is not None for block in part.layout]
    for block, label, index, one in numbers_in(blocks):
        unit = one.unit if one.scale == 1 else f"{one.scale:g} {one.unit}"
        yield block, label, index, one.name, one.value, unit, one.error, one.text
    if table:
        for n, value in zip(table_numbers(loaded.layout.pieces), loaded.table.ravel(), strict=True):
            yield n.block, n.set, n.index, n.name, float(value), n.unit, None, n.text
    if slices and loaded.slices:
        for n, value in zip(slice_numbers(loaded.slices.described), loaded.slices.maps.ravel(), strict=True):
            yield n.block, n.set, n.index, n.name, float(value), n.unit, None, n.text
