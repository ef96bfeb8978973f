"""Two sets side by side: the comparison finds the numbers changed by hand, with their pulls."""

import dataclasses

import numpy as np
import pytest

from parkf.model.steps import slices as formulas
from parkf.params.comparison import compare
from parkf.params.manifest import Constants
from parkf.params.parameter_set import with_blobs
from parkf.params.slices import MagnetSlices


def with_numbers(parameters, block, changes):
    """The same set with other values and errors of a block's first row: {index: (value, error)}."""
    layout = [one.model_copy(deep=True) for one in parameters.manifest.layout]
    (there,) = (one for one in layout if one.name == block)
    for index, (value, error) in changes.items():
        number = there.sets[0].numbers[index]
        there.sets[0].numbers[index] = number.model_copy(update={"value": value, "error": error})
    return dataclasses.replace(parameters, manifest=parameters.manifest.model_copy(update={"layout": layout}))


def test_a_set_is_like_itself(parameters):
    same = compare(parameters, parameters)
    assert same.identical
    assert (same.differences, same.other_formulas, same.constants) == ([], [], {})
    assert same.table == same.table_largest == 0


def test_pulls_are_differences_over_both_errors(parameters):
    first = with_numbers(parameters, "VUT", {0: (1.0, 0.3), 1: (2.0, None), 2: (3.0, 0.5), 3: (4.0, 0.0)})
    second = with_numbers(parameters, "VUT", {0: (1.5, 0.4), 1: (1.0, None), 2: (2.0, None), 3: (5.0, None)})
    found = compare(first, second)
    assert not found.identical
    assert [(one.block, one.index, one.first, one.second) for one in found.differences] == [
        ("VUT", 0, 1.0, 1.5),
        ("VUT", 1, 2.0, 1.0),
        ("VUT", 2, 3.0, 2.0),
        ("VUT", 3, 4.0, 5.0),
    ]
    # The first pull is 0.5 / √(0.3² + 0.4²). A single error counts alone. There is no pull without errors,
    # and an error of zero counts as none.
    assert [one.pull for one in found.differences] == [pytest.approx(1.0), None, pytest.approx(-2.0), None]


def test_numbers_that_one_set_lacks(parameters):
    layout = [one.model_copy(deep=True) for one in parameters.manifest.layout]
    gone = layout[0].sets[0].numbers.pop()
    manifest = parameters.manifest.model_copy(update={"layout": layout})
    shorter = dataclasses.replace(parameters, manifest=manifest)
    (less,), (more,) = (compare(*pair).differences for pair in ((parameters, shorter), (shorter, parameters)))
    assert (less.first, less.second, less.pull) == (gone.value, None, None)
    assert (more.first, more.second, more.name) == (None, gone.value, gone.name)


def test_numbers_of_other_formulas_mean_something_else(parameters):
    steps = parameters.manifest.steps | {"VUT": "0" * 64}
    other = with_numbers(parameters, "VUT", {0: (9.0, None)})
    other = dataclasses.replace(other, manifest=other.manifest.model_copy(update={"steps": steps}))
    found = compare(parameters, other)
    assert (found.other_formulas, found.differences) == (["VUT"], [])
    assert not found.identical


def test_tables_and_constants(parameters):
    table = parameters.table.copy()
    table[3, 4, 5] += 0.25
    table[6, 7, 8] -= 0.75
    constants = Constants(velo_sigma=0.0125, beam_x=0.5, beam_y=0.0)
    manifest = parameters.manifest.model_copy(update={"constants": constants})
    by_table = compare(parameters, dataclasses.replace(parameters, table=table))
    assert (by_table.table, by_table.table_largest) == (2, pytest.approx(0.75, abs=1e-6))
    by_beam = compare(parameters, dataclasses.replace(parameters, manifest=manifest))
    assert by_beam.constants == {"beam_x": (0.0, 0.5)}
    assert by_beam.table == np.count_nonzero(parameters.table - parameters.table)
    assert not by_table.identical
    assert not by_beam.identical


def test_sets_that_differ_inside_the_magnet_alone(parameters):
    """Fits of long tracks have the same results, fits of other kinds do not."""

    def having(slices):
        return with_blobs(parameters.manifest, parameters.constant, parameters.table, slices=slices)

    numbers = np.zeros((formulas.SLICES, len(formulas.MAPS), *formulas.NODES))
    centre = np.zeros(formulas.SLICES)
    one = MagnetSlices.of(numbers, centre, (), (14.0, 20.0))
    numbers[3, 2, 1, 0] = 0.5
    other = MagnetSlices.of(numbers, centre, (), (14.0, 20.0))
    found = compare(having(one), having(other))
    assert (found.others, found.slices_largest, found.table) == (["slices"], 0.5, 0)
    assert not found.identical
    lost = compare(having(one), having(None))
    assert (lost.others, lost.slices_largest, lost.identical) == (["slices"], None, False)
    assert compare(having(one), having(one)).identical
