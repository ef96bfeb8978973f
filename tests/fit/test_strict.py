"""Fits refuse arrays whose conversion would lose information."""

import numpy as np
import pytest
from kalman_toy import generate

from parkf.fit.candidates import from_arrays
from parkf.io.errors import ParkfError


@pytest.fixture(scope="module")
def toy():
    return generate(5, 8000.0, seed=1)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("velo_n", np.full(5, 2**40 + 5), "'velo_n', row 0: got 1099511627781, expected a whole number"),
        ("velo_n", np.array([5, 5, 5.5, 5, 5]), "'velo_n', row 2: got 5.5, expected a whole number"),
        ("velo_n", np.array([5, np.nan, 5, 5, 5]), "'velo_n', row 1: got nan, expected a whole number"),
        ("velo_n", np.array(["5"] * 5), "'velo_n' has type <U1, expected numbers"),
        ("velo_n", np.full(5, True), "'velo_n' has type bool, expected numbers"),
        ("qop", np.array(["1"] * 5), "'qop' has type <U1, expected numbers"),
        ("qop", np.full(5, 1e-4 + 1j), "'qop' has type complex128, expected numbers"),
        ("qop", np.ma.masked_array(np.full(5, 1e-4), [0, 1, 0, 0, 0]), "'qop' has masked entries"),
    ],
)
def test_casts_that_lose_something_are_refused(toy, name, values, message):
    with pytest.raises(ParkfError, match=message):
        from_arrays(toy.arrays | {name: values}, "float32")


def test_casts_that_lose_nothing_are_made(toy):
    for kind in (np.uint8, np.int64, np.float64):
        got = from_arrays(toy.arrays | {"velo_n": toy.arrays["velo_n"].astype(kind)}, "float32")
        np.testing.assert_array_equal(got.velo_n, toy.arrays["velo_n"])
        assert got.velo_n.dtype == np.int32


def test_a_missing_array_is_named(toy):
    with pytest.raises(ParkfError, match="'scifi_z' is missing"):
        from_arrays({name: a for name, a in toy.arrays.items() if name != "scifi_z"}, "float32")
