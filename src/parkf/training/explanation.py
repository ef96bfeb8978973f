"""The printed table of a parameter set: meaning, value and error of each number."""

from collections.abc import Iterator
from pathlib import Path

from parkf.params.description import constant_numbers, table_numbers
from parkf.params.parameter_set import ParameterSet, load

# Columns of a row. The error is None for numbers that no fit determined: those of the geometry, fixed or
# unused ones. It is also None for the magnet table, where the coefficients of a polynomial are strongly
# correlated and only their sum matters; its accuracy is measured on independent rays.
COLUMNS = ("block", "set", "index", "name", "value", "unit", "error", "text")
Explained = tuple[str, str, int, str, float, str, float | None, str]


def explain(parameters: Path, *, fits: Path | None = None, table: bool = False) -> Iterator[Explained]:
    """Yield a row of :data:`COLUMNS` for each number of a parameter set, in their order.

    Parameters
    ----------
    parameters : Path
        Folder of the set.
    fits : Path, optional
        Folder of its fits, for the errors.
    table : bool
        Include the 240,000 numbers of the magnet table.

    Raises
    ------
    ParkfError
        When the set, or a fit, is missing or not whole.
    """
    loaded = load(parameters)
    errors = {} if fits is None else _errors(fits, loaded)
    for n, value in zip(constant_numbers(loaded.layout), loaded.constant, strict=True):
        error = errors.get((n.block, n.set, n.index))
        yield n.block, n.set, n.index, n.name, float(value), n.unit, error, n.text
    for block in loaded.rich.layout if loaded.rich else ():
        for one in block.sets:
            for index, number in enumerate(one.numbers):
                unit = number.unit if number.scale == 1 else f"{number.scale:g} {number.unit}"
                yield block.name, one.label, index, number.name, number.value, unit, number.error, number.text
    if table:
        for n, value in zip(table_numbers(loaded.layout.pieces), loaded.table.ravel(), strict=True):
            yield n.block, n.set, n.index, n.name, float(value), n.unit, None, n.text


def _errors(fits: Path, parameters: ParameterSet) -> dict[tuple[str, str, int], float | None]:
    """Return the errors of fitted numbers, by block, set and index."""
    # These imports build the formulas, which only the errors need: they grow with the noise factors.
    from parkf.training.assembly import grown_errors, grown_noise, numbers_of
    from parkf.training.result import load_results

    results = load_results(fits)
    errors = grown_errors(results, grown_noise(parameters, numbers_of(results)))
    return {(name, results[name].sets[i].label, index): error for (name, i, index), error in errors.items()}
