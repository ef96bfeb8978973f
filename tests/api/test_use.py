"""Use of parkf from Python: sets, steps, fits of every kind of container, and refusals."""

from types import SimpleNamespace

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import parkf
from parkf.fit import fit
from parkf.params.claims import SHIPPED
from parkf.params.registry import Registry

NAME = "2026-run3-like-2-r007"


@pytest.fixture(scope="module")
def parameters():
    return parkf.load(NAME)


@pytest.fixture(scope="module")
def frame():
    return pd.read_parquet(parkf.example())


@pytest.fixture(scope="module")
def tracks(parameters):
    return parameters.fit(parkf.example())


def _arrays(frame):
    return {
        name: np.stack(values) if values.dtype == object else values.to_numpy()
        for name, values in frame.items()
    }


CONTAINERS = {
    "path": lambda frame: str(parkf.example()),
    "pandas": lambda frame: frame,
    "arrays": _arrays,
    "doubles": lambda frame: {
        name: values.astype(float) if values.ndim == 2 else values for name, values in _arrays(frame).items()
    },
    "arrow": lambda frame: pa.parquet.read_table(parkf.example()),
    "awkward": lambda frame: ak.from_parquet(parkf.example()),
    "arrays of lists": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "jagged": lambda frame: {
        **_arrays(frame),
        **{
            f"velo_{c}": [row[:n] for row, n in zip(frame[f"velo_{c}"], frame.velo_n, strict=True)]
            for c in "xyz"
        },
    },
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_container_is_fitted_alike(kind, parameters, frame, tracks):
    fitted = parameters.fit(CONTAINERS[kind](frame))
    for name in tracks.columns:
        np.testing.assert_array_equal(fitted[name], tracks[name], err_msg=name)


def test_it_is_the_fit_of_the_rooms_below(parameters, tracks):
    below = fit(Registry(SHIPPED).load(NAME), pa.parquet.read_table(parkf.example()))
    np.testing.assert_array_equal(below.qop, tracks["qop"])
    np.testing.assert_array_equal(below.xx, tracks["xx"])


def test_truth_columns_may_be_missing(parameters, frame, tracks):
    less = frame.drop(columns=["event", "candidate", "particle", "purity"])
    np.testing.assert_array_equal(parameters.fit(less)["qop"], tracks["qop"])


def test_double_precision_stays_double(parameters, tracks):
    double = parameters.fit(parkf.example(), precision="float64")
    assert double["qop"].dtype == np.float64
    sigma = np.sqrt(tracks["qopqop"])
    assert np.quantile(np.abs(double["qop"] - tracks["qop"]) / sigma, 0.99) < 0.01


def test_robust_fits_and_scores_add_their_columns(parameters):
    more = parameters.fit(parkf.example(), robust=True, score=True)
    assert {"treated", "chi2_ut_treated", "score", "score_kinematic"} <= set(more.columns)


def test_threads_change_nothing(parameters, tracks):
    for threads in (1, 2):
        assert parameters.fit(parkf.example(), threads=threads).to_arrow().equals(tracks.to_arrow())


def test_a_number_that_is_too_large_is_not_taken_for_an_empty_slot(parameters, frame):
    """A slot without a finite number is empty. 1e39 mm is finite, but has no float32."""
    arrays = _arrays(frame)
    arrays["ut_x"] = arrays["ut_x"].astype(float)
    row, slot = np.argwhere(np.isfinite(arrays["ut_x"]))[0]
    fitted = {}
    for value in (np.inf, np.nan):
        arrays["ut_x"][row, slot] = value
        fitted[value] = parameters.fit(arrays).to_arrow()
    assert fitted[np.inf].equals(fitted[np.nan])
    arrays["ut_x"][row, slot] = 1e39
    with pytest.raises(parkf.ParkfError, match=f"'ut_x', row {row}: got .* which float32 cannot hold"):
        parameters.fit(arrays)


def test_tables_keep_their_units(tracks):
    assert tracks.units["qop"] == "1/MeV"
    assert tracks.to_arrow().schema.field("xx").metadata == {b"unit": "mm²".encode()}
    assert pa.table(tracks).num_rows == len(tracks) == len(tracks.to_pandas()) == 400
    assert tracks.to_pandas().attrs["units"]["z"] == "mm"
    assert "qop [1/MeV]" in tracks._repr_html_()
    states = np.asarray(tracks)
    assert states.shape == (400, 5)
    np.testing.assert_array_equal(states[:, 4], tracks["qop"])
    np.testing.assert_allclose(tracks.p, 1 / np.abs(states[:, 4]))


def test_covariances_are_symmetric_and_positive(tracks):
    covariances = tracks.covariances()[tracks["status"] == 0].astype(float)
    np.testing.assert_array_equal(covariances, covariances.swapaxes(1, 2))
    scale = np.sqrt(np.einsum("nii->ni", covariances))
    assert (np.linalg.eigvalsh(covariances / scale[:, :, None] / scale[:, None, :]) > 0).all()


@pytest.mark.parametrize("name", ["V", "VUT", "UT", "TFT"])
def test_jacobians_are_the_derivatives(name, parameters):
    step = parameters.steps[name]
    z0, z1 = {"V": (0, 25), "VUT": (760, 2320), "UT": (2320, 2375), "TFT": (7780, 7826)}[name]
    state = np.array([40.0, 30.0, 0.05, 0.03, 1e-4])
    delta = np.array([1e-3, 1e-3, 1e-6, 1e-6, 1e-9])
    numerical = np.stack(
        [
            (step(state + d, z0, z1, polarity=-1) - step(state - d, z0, z1, polarity=-1))[:4] / (2 * d.sum())
            for d in np.diag(delta)
        ],
        axis=1,
    )
    jacobian = step.jacobian(state, z0, z1, polarity=-1)
    np.testing.assert_allclose(
        jacobian * delta, numerical * delta, atol=1e-4 * np.abs(numerical * delta).max()
    )


def test_the_magnet_kicks_by_about_one_gev(parameters):
    z_in, z_out = parameters.steps["UTTF"].plane_before, parameters.steps["UTTF"].plane_behind
    for qop in (1e-4, -1e-4, 1e-5):
        state = np.array([0.02 * z_in, 0.01 * z_in, 0.02, 0.01, qop])
        turned = parameters.steps["UTTF"](state, z_in, z_out, polarity=-1)
        assert 1000 < (turned[2] - state[2]) / qop < 1300  # MeV


def test_a_reversed_field_bends_the_other_charge_alike(parameters):
    state = np.array([40.0, 30.0, 0.05, 0.03, 1e-4])
    other = state * [1, 1, 1, 1, -1]
    step = parameters.steps["VUT"]
    one, two = step(state, 760, 2320, polarity=1), step(other, 760, 2320, polarity=-1)
    np.testing.assert_array_equal(one[:4], two[:4])


def test_noise_is_positive_and_falls_with_momentum(parameters):
    state = np.array([[4.0, 3.0, 0.05, 0.03, 1 / p] for p in (2000, 20_000)])
    noise = parameters.steps["V"].noise(state, 0, 25, polarity=1)
    assert (np.linalg.eigvalsh(noise) >= -1e-18).all()
    # Highland: the angle is proportional to 1/p.
    assert np.sqrt(noise[0, 2, 2] / noise[1, 2, 2]) == pytest.approx(10, rel=0.1)


def test_numbers_of_a_set_cannot_be_changed(parameters):
    for array in (parameters.constant, parameters.table):
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 1


def test_steps_show_their_formulas(parameters):
    assert "t_x" in parameters.steps["V"]._repr_markdown_()
    assert list(parameters.steps) == ["V", "VUT", "UT", "UTTF", "TFT", "T", "BEAM"]


def test_gates_and_comparison(parameters):
    gates = parameters.gates()
    assert gates.met.all()
    assert {"what", "value", "bar"} <= set(gates)
    comparison = parkf.compare(NAME, "2026-run3-like-2-r008")
    assert not comparison.same(1)
    assert "no figures of tracks" in str(comparison)
    assert f"{NAME} → 2026-run3-like-2-r008" in str(comparison)


WRONG = {
    "no folder of a set and no run; did you mean 2026-run3-like-2-r0": lambda p, f: parkf.load(
        "2026-run3-like-2-r00"
    ),
    "column 'qop' is missing; expected polarity, qop": lambda p, f: p.fit(f.drop(columns="qop")),
    "'velo_n', row 0: got 1099511627781, which int32 cannot hold": lambda p, f: p.fit(
        _arrays(f) | {"velo_n": np.full(len(f), 2**40 + 5)}
    ),
    "'velo_n', row 0: got 7.5, which int32 cannot hold": lambda p, f: p.fit(
        _arrays(f) | {"velo_n": np.full(len(f), 7.5)}
    ),
    "'qop' has type <U3, expected float": lambda p, f: p.fit(_arrays(f) | {"qop": np.full(len(f), "abc")}),
    "'ut_x' has a row without a list or with more than 4 hits": lambda p, f: p.fit(
        _arrays(f) | {"ut_x": [[1.0, 2.0, 3.0, 4.0, 5.0], *([[1.0]] * (len(f) - 1))]}
    ),
    "'velo_x' has a row without a list or with more than 26 hits": lambda p, f: p.fit(
        _arrays(f) | {"velo_x": [*([[1.0]] * (len(f) - 1)), None]}
    ),
    "'qop' has masked rows": lambda p, f: p.fit(_arrays(f) | {"qop": np.ma.masked_all(len(f))}),
    r"'scifi_x' has shape \(400, 3\), expected \(400, 12\)": lambda p, f: p.fit(
        _arrays(f) | {"scifi_x": np.zeros((len(f), 3))}
    ),
    "column 'polarity', row 0: got 0, expected": lambda p, f: p.fit(
        _arrays(f) | {"polarity": np.zeros(len(f), np.int8)}
    ),
    "threads: got 0, expected a whole number of at least 1": lambda p, f: p.fit(f, threads=0),
    "got int, expected a path": lambda p, f: p.fit(3),
    "no step 'X'; steps are V, VUT": lambda p, f: p.steps["X"],
    "polarity: got 2, expected": lambda p, f: p.steps["V"](np.zeros(5), 0, 1, polarity=2),
    r"state: got shape \(4,\)": lambda p, f: p.steps["V"](np.zeros(4), 0, 1, polarity=1),
    "z1, row 0: got nan": lambda p, f: p.steps["V"](np.zeros(5), 0, np.nan, polarity=1),
    "z1, row 1: got nan": lambda p, f: p.steps["V"](np.zeros((2, 5)), 0, [1.0, np.nan], polarity=1),
    "no set 'up'; sets are forward, backward": lambda p, f: p.steps["V"].parameters("up"),
    "no finished run": lambda p, f: parkf.run("no-such-run"),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_wrong_is_named(message, parameters, frame):
    with pytest.raises(parkf.ParkfError, match=message):
        WRONG[message](parameters, frame)


@pytest.mark.parametrize(
    "container",
    [
        SimpleNamespace(fields=["qop"]),
        SimpleNamespace(layout=None),
        SimpleNamespace(columns=["qop"]),
        SimpleNamespace(dtypes={"qop": float}),
        np.zeros(3),
    ],
    ids=["fields", "layout", "columns", "dtypes", "no names"],
)
def test_a_container_that_only_resembles_a_table_is_refused(parameters, container):
    with pytest.raises(parkf.ParkfError, match=f"hits: got {type(container).__name__}, expected a path"):
        parameters.fit(container)


@pytest.fixture(scope="module")
def newer():
    return parkf.load("2026-run3-like-2-r014")


def test_numbers_have_names_units_and_errors(newer):
    number = newer["VUT"].p9
    assert number.error > 0
    assert number.unit == "m"
    assert newer["T", 3].p0.value == pytest.approx(newer.steps["T"].parameters(3)[0])
    with pytest.raises(parkf.ParkfError, match="no block 'X'; blocks are V, VUT"):
        newer["X"]
    with pytest.raises(parkf.ParkfError, match="no set 99, expected 0 to"):
        newer["T", 99]
    with pytest.raises(AttributeError, match="no number 'p99'; numbers are"):
        newer["VUT"].p99  # noqa: B018


def test_steps_say_which_z_are_sensible(parameters):
    steps = parameters.steps
    assert steps["UTTF"].planes() == ((2665.0, 2665.0), (7826.0, 7826.0))
    assert steps["UT"].planes(5) == ((2642.5, 2642.5), (2597.5, 2597.5))
    ends = [steps["T"].planes(number) for number in range(len(steps["T"].sets))]
    assert all(begin[1] < end[0] for begin, end in ends)


def test_python_has_the_options_of_the_command(newer):
    tracks = newer.fit(parkf.example(), rich_states=True)
    assert tracks["state_990"].shape == (len(tracks), 4)
    assert tracks.to_arrow()["covariance_9450"].type.list_size == 10
    assert len(tracks.to_pandas()["state_990"][0]) == 4
    with pytest.raises(parkf.ParkfError, match="scheme 'kalman': expected one of smoother, trigger"):
        newer.fit("no such file", scheme="kalman")


def test_a_run_that_cannot_begin_says_why(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = parkf.Run("nothing")
    assert not run.ended
    with pytest.raises(parkf.ParkfError, match=r"nothing\.yaml"):
        run.train(cores=1)
    assert "nothing.yaml" in capsys.readouterr().out
