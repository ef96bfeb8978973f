"""The scheme `trigger` has the trigger's own arithmetic: its results are those of the trigger's code."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import parkf._fitter as _fitter
import pytest
from benchmarks.trigger_golden import POINTS, SET, candidates, compared, trace
from kalman_toy import generate

from parkf.fit import cpu, fit
from parkf.io.errors import ParkfError
from parkf.io.files import sha256
from parkf.params.exchange.trigger import as_the_trigger_reads, export_trigger, import_trigger
from parkf.params.parameter_set import load

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared/data/trigger_client/golden_r007.npz"
STATE = ("x", "y", "tx", "ty", "qop")


@pytest.fixture(scope="module")
def parameters():
    return load(SET)


@pytest.fixture(scope="module", params=["some", "all"])
def golden(request):
    """The first 25 tracks of each polarity in double precision, and all of them in both precisions."""
    if request.param == "some":
        return np.load(HERE / "trigger_tracks.npz")
    if not SHARED.exists():
        pytest.skip(f"no file {SHARED.name} beside the checkout")
    return np.load(SHARED)


def test_states_are_the_triggers_at_each_point(golden, parameters):
    """99 % of tracks agree: states to 0.01 σ, covariances to 1 %, χ² to 1e-3; ndof and NaN the same."""
    for one in compared(golden, parameters):
        if one.precision == "float64":
            assert max(one.states.values()) < 0.01
            assert max(one.covariances.values()) < 0.01
            assert max(one.results[name] for name in STATE) < 0.01
            assert max(value for name, value in one.results.items() if name[:4] == "chi2") < 1e-3
            assert (
                max(one.results[name] for name in ("xx", "xtx", "txtx", "yy", "yty", "tyty", "qopqop")) < 0.01
            )
            theirs, ours, both = one.nan
            assert abs(ours - theirs) <= 0.1 * theirs
            assert both >= 0.9 * theirs
        assert one.wrong_ndof == one.wrong_charge == 0


def test_single_precision_loses_as_many_tracks(golden, parameters):
    """Rounding decides which tracks become NaN, but hardly changes their number."""
    single = [one for one in compared(golden, parameters) if one.precision == "float32"]
    theirs, ours = (sum(one.nan[i] for one in single) for i in (0, 1))
    assert abs(ours - theirs) <= 3 * np.sqrt(max(theirs, 1))
    for one in single:
        assert max(one.states[point] for point in POINTS[: POINTS.index("T1")]) < 0.05


def test_builds_agree_but_for_rounding(golden, parameters):
    """Nine digits cancel in the variance of x at the first SciFi hits, so a few tracks differ by more."""
    for precision, typical, most in (("float32", 0.02, 3.0), ("float64", 1e-4, 0.1)):
        tracks = candidates(golden, 0, parameters, precision)
        fits = [cpu.fit(parameters, tracks, smoother=False, threads=1, build=b) for b in _fitter.builds()]
        good = np.all([np.isfinite(one.qop) & (one.qopqop > 0) for one in fits], axis=0)
        assert good.mean() > 0.97
        for one in fits[1:]:
            for name in STATE:
                error = np.sqrt(getattr(fits[0], name * 2)[good])
                off = np.abs(getattr(one, name) - getattr(fits[0], name))[good] / error
                assert np.median(off) < typical, (precision, name)
                assert np.percentile(off, 99) < most, (precision, name)
            np.testing.assert_array_equal(one.ndof_velo, fits[0].ndof_velo)


def test_velo_hits_count_twice():
    """This is the scheme's known flaw: its error of q/p is far too small."""
    for momentum, low, high in ((3000.0, 1.7, 2.8), (50000.0, 1.2, 1.9)):
        toy = generate(4000, momentum, seed=int(momentum), forms="production")
        with np.errstate(invalid="ignore"):
            fitted = fit(toy.parameters, toy.candidates("float64"), scheme="trigger", precision="float64")
            pulls = toy.pulls(fitted)["qop"]
        assert np.isfinite(pulls).mean() > 0.99
        assert low < np.nanstd(pulls) < high


def test_the_magnet_is_linearised_about_the_seed(parameters, golden):
    """The filtered q/p enters through the Jacobian alone, so results depend on the seed."""
    tracks = candidates(golden, 0, parameters, "float64")
    moved = {}
    for scheme in ("trigger", "smoother"):
        one, other = (
            fit(parameters, replace(tracks, qop=tracks.qop * factor), scheme=scheme, precision="float64").qop
            for factor in (1.0, 1.1)
        )
        moved[scheme] = np.nanmedian(np.abs(other / one - 1))
    print(moved)
    assert moved["trigger"] > 2 * moved["smoother"]


def test_other_forms_have_no_such_scheme():
    toy = generate(8, 5000.0, seed=1)
    with pytest.raises(
        ParkfError, match="scheme 'trigger': it fits with production's forms, got a set of forms"
    ):
        fit(toy.parameters, toy.candidates("float32"), scheme="trigger")
    with pytest.raises(ValueError, match="scheme 'trigger': it is for production's forms, got improved"):
        trace(toy.parameters, toy.candidates("float32"))


def test_the_exported_files_are_those_that_the_trigger_read(tmp_path, parameters, golden):
    """The trigger's results were made with files in the older order of UT rows."""
    export_trigger(parameters, tmp_path, ut_rows="older")
    for name, key in (("params.json", "params_json"), ("params_UTT_v0.tab", "table")):
        assert sha256(tmp_path / name) == str(golden[key])


def test_the_table_is_that_of_the_files(tmp_path, parameters):
    """Our import reads the text in double precision; the trigger's product agrees within its last bit."""
    export_trigger(parameters, tmp_path)
    ours, theirs = import_trigger(tmp_path).table, as_the_trigger_reads(parameters).table
    assert (ours != theirs).any()
    np.testing.assert_array_max_ulp(ours, theirs, maxulp=1)
