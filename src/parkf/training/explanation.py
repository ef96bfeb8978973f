"""The printed table of a parameter set: what each number is, its value and its error."""

from collections.abc import Iterator
from pathlib import Path

from parkf.params.parameter_set import ParameterSet, load
from parkf.params.slots import constant_numbers, table_numbers

# Columns of a row. The error is None for numbers that no fit determined: taken from the geometry, fixed, or
# not used. It is also None for the magnet table, where the coefficients of a polynomial are strongly
# correlated and only their sum matters; its accuracy is measured on independent rays.
COLUMNS = ("block", "set", "index", "name", "value", "unit", "error", "text")
Explained = tuple[str, str, int, str, float, str, float | None, str]


def explain(parameters: Path, *, fits: Path | None = None, table: bool = False) -> Iterator[Explained]:
    """Explain the numbers of a parameter set in their order: the constant ones, and the 240,000 if asked for.

    Parameters
    ----------
    parameters : Path
        Folder of the set.
    fits : Path, optional
        Folder of the fits that it was made from, for the errors.
    table : bool
        The magnet table, too.

    Yields
    ------
    tuple
        In the order of :data:`COLUMNS`.

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
    if table:
        for n, value in zip(table_numbers(loaded.layout.pieces), loaded.table.ravel(), strict=True):
            yield n.block, n.set, n.index, n.name, float(value), n.unit, None, n.text


def _errors(fits: Path, parameters: ParameterSet) -> dict[tuple[str, str, int], float | None]:
    """Errors of the numbers that fits determined, by block, set and index."""
    # Imported only here, since it builds the formulas: they give the growth of errors with the noise factors,
    # and are not needed without errors.
    from parkf.training.assembly import grown_noise, numbers_of
    from parkf.training.result import load_results

    results = load_results(fits)
    grown = grown_noise(parameters, numbers_of(results))
    return {
        (name, one.label, index): None if error is None else error * abs(float(grown[name][number, index]))
        for name, result in results.items()
        for number, one in enumerate(result.sets)
        for index, error in enumerate(one.errors)
    }
