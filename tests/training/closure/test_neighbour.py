"""A set may use the closed table of a neighbour."""

from dataclasses import replace

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.training.closure.close import neighbours_table


def test_a_neighbours_table_goes_with_the_sets_own_numbers(trained, table, tmp_path):
    path = tmp_path / "table.npz"
    theirs = replace(table, coefficients=table.coefficients * np.float32(1.01), closed_with="their numbers")
    theirs.save(path)
    taken = neighbours_table(trained, path)
    np.testing.assert_array_equal(taken.coefficients, theirs.coefficients)
    assert taken.closed_with == trained.manifest.blobs.constant.sha256


def test_a_table_that_does_not_fit_is_refused(trained, table, tmp_path):
    path = tmp_path / "table.npz"
    table.save(path)
    with pytest.raises(ParkfError, match=r"this table was not closed; expected a run's closure/table\.npz"):
        neighbours_table(trained, path)
    header = table.header.copy()
    header[0] += np.float32(1)
    replace(table, header=header, closed_with="their numbers").save(path)
    with pytest.raises(ParkfError, match="its header is not that of this run's table: another field"):
        neighbours_table(trained, path)
