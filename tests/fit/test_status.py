"""Impossible numbers in a track set a status bit in every scheme, without an error or harm to neighbours."""

import dataclasses
from pathlib import Path

import numpy as np
import parkf._fitter as _fitter
import pytest
from kalman_toy import generate, parameters

from parkf.fit import STATUS, STATUS_BITS, cpu, fit, is_good
from parkf.fit.fitted import INTEGERS, NUMBERS, Fitted
from parkf.fit.fitter import fit_file
from parkf.fit.hits import from_arrow
from parkf.fit.reference.full import fit_full
from parkf.fit.summary import Summary
from parkf.io import tables
from parkf.io.tables import CANDIDATES, FITTED

from ..rows import candidates

SCHEMES = ("parkf", "robust", "trigger", "full")
# The full fit accepts planes at any z, and ignores hits whose z is not finite.
KERNEL = SCHEMES[:-1]
INFINITE = [np.inf, -np.inf, np.nan]


def put(name, at, value):
    """Change a number of a track."""

    def change(arrays, row):
        arrays[name][(row, *at)] = value

    return change


def reversed_velo(arrays, row):
    used = arrays["velo_n"][row]
    for name in ("velo_x", "velo_y", "velo_z"):
        arrays[name][row, :used] = arrays[name][row, :used][::-1]


def swapped_velo(arrays, row):
    """Swap the third and the fourth hit; the fit does not start from either."""
    for name in ("velo_x", "velo_y", "velo_z"):
        arrays[name][row, [2, 3]] = arrays[name][row, [3, 2]]


def no_scifi(arrays, row):
    arrays["scifi_x"][row] = np.nan


def neither(arrays, row):
    arrays["qop"][row], arrays["velo_n"][row] = 0, 99


# The change, the name of the status bit, and the schemes that check it.
CASES = [
    *((put("ut_sigma", (1,), value), "wrong_sigma", SCHEMES) for value in (0.0, -0.05)),
    *((put("scifi_sigma", (11,), value), "wrong_sigma", SCHEMES) for value in (0.0, -0.1, -np.inf)),
    *((put("ut_z", (0,), value), "wrong_plane", SCHEMES) for value in (0.0, 2360.0, 1e30)),
    *((put("scifi_z", (i,), z), "wrong_plane", SCHEMES) for i, z in ((0, 7896.0), (5, -8578.0), (11, 1e6))),
    (reversed_velo, "velo_unsorted", SCHEMES),
    (swapped_velo, "velo_unsorted", SCHEMES),
    (put("velo_z", (1,), -1e4), "velo_unsorted", SCHEMES),
    *((put("velo_n", (), value), "velo_count", SCHEMES) for value in (-1, 27, 1000, 2**31 - 1, -(2**31))),
    *((put("velo_n", (), value), "few_velo_hits", SCHEMES) for value in (0, 1)),
    *((put("qop", (), value), "wrong_qop", SCHEMES) for value in (0.0, -0.0, *INFINITE)),
    *((put("velo_x", (1,), value), "non_finite", SCHEMES) for value in INFINITE),
    *((put("scifi_z", (4,), value), "non_finite", KERNEL) for value in INFINITE),
    *((put("ut_sigma", (2,), value), "non_finite", KERNEL) for value in (np.inf, np.nan)),
    *((put("scifi_dxdy", (7,), value), "non_finite", SCHEMES) for value in INFINITE),
    (no_scifi, "no_scifi_hit", SCHEMES),
    (neither, "wrong_qop", SCHEMES),
    (neither, "velo_count", SCHEMES),
]  # fmt: skip
# Every other track is a case, so its neighbours in the same register are sound.
BAD = np.arange(0, 2 * len(CASES), 2)
COUNT = 2 * len(CASES)


@pytest.fixture(scope="module")
def toy():
    toy = generate(COUNT, 5000.0, seed=11)
    # With five hits, the third and the fourth can be swapped without changing where the fit starts.
    enough = toy.arrays["velo_n"] >= 5
    toy.arrays = {
        name: values[np.resize(np.flatnonzero(enough), COUNT)] for name, values in toy.arrays.items()
    }
    return toy


def spoiled(toy, precision):
    """Candidates with all cases, each in its own row."""
    arrays = {name: values.copy() for name, values in toy.arrays.items()}
    for row, (change, *_) in zip(BAD, CASES, strict=True):
        change(arrays, row)
    with np.errstate(over="ignore"):
        return dataclasses.replace(toy, arrays=arrays).candidates(precision)


@pytest.fixture(scope="module")
def fitting(toy, geometry, field):
    def run(scheme, tracks):
        if scheme == "full":
            return fit_full(geometry, field, tracks, threads=1)
        name = "trigger" if scheme == "trigger" else "smoother"
        forms = parameters("production") if scheme == "trigger" else toy.parameters
        with np.errstate(all="ignore"):
            return fit(forms, tracks, scheme=name, threads=1, robust=scheme == "robust")

    return run


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_bad_numbers_have_names_and_harm_no_neighbour(toy, fitting, scheme, precision):
    good, result = fitting(scheme, toy.candidates(precision)), fitting(scheme, spoiled(toy, precision))
    inputs = {"wrong_sigma", "wrong_plane", "velo_unsorted", "velo_count", "wrong_qop"}
    for row, (_, name, schemes) in zip(BAD, CASES, strict=True):
        said = [bit_name for bit_name, bit in STATUS_BITS.items() if result.status[row] & bit]
        if scheme in schemes:
            assert name in said, (row, name, said)
        # No other input is blamed. A hit with an infinite z is also off its plane.
        expected = {name, "wrong_qop", "velo_count"} if row >= BAD[-2] else {name, "wrong_plane"}
        assert inputs & set(said) <= expected, (row, name, said)
    for attribute in (*NUMBERS, *INTEGERS):
        one, other = getattr(result, attribute)[1::2], getattr(good, attribute)[1::2]
        np.testing.assert_array_equal(one, other, err_msg=attribute)


def test_good_numbers_are_not_blamed(toy, fitting):
    for scheme in SCHEMES[:-1]:  # toys bend as no real field does
        # In the trigger's arithmetic, the toys of other forms have hits far from their tracks.
        assert is_good(fitting(scheme, toy.candidates("float64")).status).all(), scheme
    names = ("wrong_sigma", "wrong_plane", "velo_unsorted", "velo_count", "wrong_qop")
    assert not (fitting("full", toy.candidates("float64")).status & sum(STATUS_BITS[n] for n in names)).any()
    # Staves of the UT are 7 mm away from their layers.
    arrays = toy.arrays | {"ut_z": toy.arrays["ut_z"] + 7.0}
    moved = dataclasses.replace(toy, arrays=arrays).candidates("float32")
    assert not (fitting("parkf", moved).status & STATUS_BITS["wrong_plane"]).any()


@pytest.mark.parametrize("column", ["velo_x", "scifi_z"])
def test_nulls_among_hits_are_named(toy, fitting, column):
    rows = [list(row) for row in toy.arrays[column]]
    rows[5][1] = None
    holed = candidates(toy, **{column: rows})
    others = np.arange(COUNT) != 5
    for scheme in SCHEMES:
        status = fitting(scheme, holed).status
        assert status[5] & STATUS_BITS["null_number"], scheme
        assert not (status[others] & STATUS_BITS["null_number"]).any()
    assert from_arrow(holed, np.dtype("float32")).rows(slice(5, None)).nulls.tolist()[:2] == [True, False]


def test_what_is_asked_besides_survives_bad_numbers(toy, fitting):
    tracks = spoiled(toy, "float32")
    cpu.fit_with_rich(toy.parameters, tracks, threads=1)


def test_bits_have_one_name_and_the_schema_lists_them():
    # The last one compares q/p with the seed, which needs no kernel.
    names = [*(name for _, name, _ in _fitter.status), "far_seed"]
    assert [STATUS_BITS[name] for name in names] == [1 << i for i in range(len(names))] == list(STATUS)
    documented = Path(tables.__file__).read_text()
    for name, bit in STATUS_BITS.items():
        assert f"{bit} {name}" in documented


def fitted(chi2, status):
    n = len(chi2)
    numbers = {name: np.ones(n, np.float32) for name in NUMBERS} | {"chi2_velo": np.asarray(chi2, np.float32)}
    integers = {name: np.full(n, 2, np.int32) for name in INTEGERS} | {"status": np.asarray(status, np.int32)}
    return Fitted(**numbers, **integers)


@pytest.mark.parametrize("more", [1, 3])
def test_rows_that_have_no_name_are_refused(more):
    """If a kernel returns rows that this package does not know, their numbers must not be misread."""
    with pytest.raises(ValueError, match="argument"):
        Fitted.from_kernel(np.zeros((len(NUMBERS) + more, 5)), np.zeros((len(INTEGERS), 5), np.int32))


def test_the_summary_counts_names_and_warns():
    """In these fits χ²/ndof is (chi2 + 2)/6."""
    summary = Summary()
    summary.add(fitted([4.0, 4.6, 3.4, 400.0], [0, 0, 0, 64]))
    summary.add(fitted([4.0, 4.6, 3.4], [0, 0, 64 | 1]))
    assert (summary.count, summary.good, summary.failed["wrong_sigma"]) == (7, 5, 2)
    assert summary.median_chi2 == pytest.approx(1.0, rel=0.012)
    assert summary.lines()[0].startswith("5 of 7 tracks are good, median χ²/ndof 1.0")
    assert [line.split()[:3] for line in summary.lines()[1:]] == [
        ["1", "non_finite", "(1):"],
        ["2", "wrong_sigma", "(64):"],
    ]
    summary.add(fitted([50.0] * 20, [0] * 20))
    assert summary.lines()[-1].startswith("warning: the median χ²/ndof is 8.7, expected about 1")
    assert Summary().lines() == ["0 of 0 tracks are good"]


def test_tracks_without_degrees_of_freedom_are_good_and_in_no_median():
    none = dict.fromkeys(("ndof_velo", "ndof_ut", "ndof_scifi"), np.zeros(9, np.int32))
    summary = Summary()
    summary.add(dataclasses.replace(fitted([4.0] * 9, [0] * 9), **none))
    assert summary.lines() == ["9 of 9 tracks are good"]
    assert summary.median_chi2 is None
    summary.add(fitted([4.0], [0]))
    assert summary.lines() == ["10 of 10 tracks are good, median χ²/ndof 1.00"]


def test_a_file_ends_with_its_summary(toy, tmp_path, monkeypatch):
    monkeypatch.setattr("parkf.fit.fitter.load", lambda folder, **_: toy.parameters)
    qop = toy.arrays["qop"].copy()
    qop[:3] = 0, np.nan, np.inf
    with CANDIDATES.writer(tmp_path / "in.parquet") as writer:
        writer.write_table(candidates(toy, qop=qop.astype(np.float32)))
    summary = fit_file(tmp_path, tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert (summary.count, summary.good, summary.failed["wrong_qop"]) == (COUNT, COUNT - 3, 3)
    assert 0.5 < summary.median_chi2 < 2
    assert (FITTED.open(tmp_path / "out.parquet").read()["status"].to_numpy()[:3] & 1024).all()
