"""The full fit is exact without scattering, right with all material, and equal to the NumPy version."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from full_gain import Estimate, changed_energy, on_plane
from full_reference import fit_full_reference

import parkf._full_fit as _full_fit
from parkf.detector.alignment import Alignment
from parkf.detector.description import Description
from parkf.detector.geometry import Geometry
from parkf.detector.transport import propagate
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.reference.full import fit_full
from parkf.proof.validation.core import fit_core

from .full_samples import tracks

DATA = Path(__file__).parents[2] / "data"
NAMES = ("x", "y", "tx", "ty", "qop")


def without_material(geometry):
    """The same planes in a detector without scattering or energy loss, sensitive wherever it can be."""
    content = geometry.description.model_dump()
    content["tubes"], content["slabs"] = (), ()
    for part in ("velo", "ut", "scifi"):
        content[part]["thickness"] = 0.0
        content[part]["efficiency"] = 1.0
    for part, noise in (
        ("velo", "noise_per_module"),
        ("ut", "noise_per_layer"),
        ("scifi", "noise_per_layer"),
    ):
        content[part][noise] = 0.0
    # No element is displaced, either.
    content["scifi"]["alignment_error"] = 0.0
    return Geometry(Description.model_validate(content), geometry.frames)


def pulls(fitted, truth):
    at = truth | {"x": truth["tx"] * fitted.z, "y": truth["ty"] * fitted.z}
    return {n: (getattr(fitted, n) - at[n]) / np.sqrt(getattr(fitted, n + n)) for n in NAMES}


@pytest.fixture(scope="module")
def ideal(tmp_path_factory, geometry, field):
    detector = without_material(geometry)
    sample = tracks(tmp_path_factory.mktemp("ideal"), detector, field, events=120, seed=7)
    sample.geometry = detector
    sample.fitted = fit_full(detector, field, sample.candidates, threads=2)
    return sample


def test_without_material_pulls_and_chi2_are_exact(ideal):
    good = ideal.fitted.status == 0
    count = good.sum()
    assert good.mean() > 0.995
    for name, pull in pulls(ideal.fitted, ideal.truth).items():
        assert pull[good].std() == pytest.approx(1.0, abs=4 / np.sqrt(2 * count)), name
        assert pull[good].mean() == pytest.approx(0.0, abs=4 / np.sqrt(count)), name
    for detector in ("velo", "ut", "scifi"):
        chi2, ndof = (getattr(ideal.fitted, f"{what}_{detector}")[good].sum() for what in ("chi2", "ndof"))
        # The UT measures q/p poorly, so the degree of freedom that it loses shows in the SciFi's χ².
        slack = count if detector != "velo" else 0
        assert chi2 == pytest.approx(ndof, abs=slack + 4 * np.sqrt(2 * ndof)), detector
    f = ideal.fitted
    chi2, ndof = (
        sum(getattr(f, f"{w}_{d}")[good].sum() for d in ("velo", "ut", "scifi")) for w in ("chi2", "ndof")
    )
    assert chi2 == pytest.approx(ndof, abs=5 * np.sqrt(2 * ndof))


def test_the_seed_does_not_matter(ideal, field):
    other = replace(ideal.candidates, qop=1.05 * ideal.candidates.qop)
    fitted = fit_full(ideal.geometry, field, other, threads=2)
    for name in NAMES:
        shift = (getattr(fitted, name) - getattr(ideal.fitted, name)) / np.sqrt(getattr(fitted, name * 2))
        assert np.nanquantile(np.abs(shift), 0.99) < 0.05, name


def test_with_material_the_core_is_right(tmp_path, geometry, field):
    sample = tracks(tmp_path, geometry, field, events=120, seed=8)
    fitted = fit_full(geometry, field, sample.candidates, threads=2)
    good = fitted.status == 0
    assert good.mean() > 0.99
    for name, pull in pulls(fitted, sample.truth).items():
        # A covariance cannot describe the tails of scattering and energy loss, but it describes the core.
        core = fit_core(pull[good])
        assert core.width == pytest.approx(1.0, abs=0.03 + 3 * core.width_error), name
    core = fit_core((sample.truth["qop"] / fitted.qop - 1)[good])
    assert core.width < 0.005
    assert core.mean == pytest.approx(0.0, abs=2e-4 + 3 * core.mean_error)


def test_without_errors_the_momentum_stays(tmp_path, geometry, field):
    """The closure uses q/p alone; the errors of its means are 5e-5."""
    sample = tracks(tmp_path, geometry, field, events=60, seed=9)
    fitted, rough = (
        fit_full(geometry, field, sample.candidates, errors=errors, threads=2) for errors in (True, False)
    )
    np.testing.assert_array_equal(rough.status, fitted.status)
    shift = (rough.qop / fitted.qop - 1)[fitted.status == 0]
    assert abs(np.median(shift)) < 1e-5
    assert np.quantile(np.abs(shift), 0.95) < 1e-4


def test_threads_do_not_change_a_bit(ideal, field):
    again = fit_full(ideal.geometry, field, ideal.candidates, threads=1)
    assert_same_bits(again, ideal.fitted)


@pytest.fixture(scope="module")
def real(tmp_path_factory, geometry, field):
    """Tracks of both polarities, some with missing hits, in a detector with material and inclined planes."""
    turned = {"y": 0.2, "rx": 2e-3, "ry": -1e-3, "rz": 1e-3}
    alignment = Alignment.model_validate(
        {
            "tag": "leaning",
            "velo_halves": {"left": {"x": 0.05}},
            "velo_modules": {7: {"ry": 1e-3}},
            "ut_layers": {1: turned},
            "scifi_layers": {4: turned, 9: {"x": -0.1}},
        }
    )
    detector = geometry.align(alignment)
    sample = tracks(tmp_path_factory.mktemp("real"), detector, field, events=16, seed=9)
    random = np.random.default_rng(2)
    for hits in (sample.candidates.ut, sample.candidates.scifi):
        missing = random.random(hits[0].shape) < 0.1
        missing[random.random(len(missing)) < 0.05] = True
        for rows in hits:
            rows[missing] = np.nan
    # With the opposite polarity, the opposite charge has the same trajectory.
    sample.candidates.polarity[1::2] *= -1.0
    sample.candidates.qop[1::2] *= -1.0
    sample.geometry = detector
    return sample


def assert_same_bits(one, other, rows=slice(None)):
    for name in (*NUMBERS, *INTEGERS):
        np.testing.assert_array_equal(getattr(one, name)[rows], getattr(other, name)[rows], err_msg=name)


def assert_agree(fitted, expected):
    """The two differ by rounding, and sometimes by a Runge-Kutta step whose length rounding decides."""
    for name in INTEGERS:
        np.testing.assert_array_equal(getattr(fitted, name), getattr(expected, name), err_msg=name)
    good = expected.status == 0
    for name in NAMES:
        shift = np.abs(getattr(fitted, name) - getattr(expected, name)) / np.sqrt(getattr(expected, name * 2))
        assert np.quantile(shift[good], 0.95) < 1e-8, name
        assert shift[good].max() < 1e-3, name
    for name in NUMBERS[6:]:
        one, other = getattr(fitted, name)[good], getattr(expected, name)[good]
        apart = np.abs(one - other) / np.maximum(np.abs(other), np.finfo(np.float64).tiny)
        assert np.quantile(apart, 0.95) < 1e-8, name
        assert apart.max() < 1e-3, name


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_the_kernel_gives_the_numpy_versions_numbers(real, field, interpolation):
    chosen = replace(field, interpolation=interpolation)
    fitted = fit_full(real.geometry, chosen, real.candidates, threads=2)
    assert (fitted.status == 0).mean() > 0.9
    assert_agree(fitted, fit_full_reference(real.geometry, chosen, real.candidates, threads=2))


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_all_builds_give_the_same_bits(real, field, interpolation):
    chosen = replace(field, interpolation=interpolation)
    first, *others = (
        fit_full(real.geometry, chosen, real.candidates, threads=2, build=build)
        for build in _full_fit.builds()
    )
    for other in others:
        assert_same_bits(other, first)


def test_a_track_does_not_depend_on_its_neighbours(real, field):
    together = fit_full(real.geometry, field, real.candidates, threads=2)
    order = np.random.default_rng(3).permutation(real.candidates.count)[:101]
    some = fit_full(real.geometry, field, real.candidates.rows(order), threads=2)
    for name in (*NUMBERS, *INTEGERS):
        np.testing.assert_array_equal(getattr(some, name), getattr(together, name)[order], err_msg=name)


def test_no_candidates_give_no_tracks(real, field):
    assert fit_full(real.geometry, field, real.candidates.rows(slice(0, 0))).qop.shape == (0,)


def test_an_unknown_build_is_refused(real, field):
    with pytest.raises(ValueError, match="build 'v9' is unknown"):
        fit_full(real.geometry, field, real.candidates, build="v9")


def test_hits_of_another_shape_are_refused(real, field):
    short = tuple(rows[:, :3] for rows in real.candidates.ut)
    with pytest.raises(ValueError, match=r"expected arrays of hits \(\d+, 4\)"):
        fit_full(real.geometry, field, replace(real.candidates, ut=short))


def test_bad_input_is_flagged_and_harms_no_neighbour(ideal, field):
    candidates = ideal.candidates.rows(np.arange(40))
    candidates.qop[2] = np.nan
    candidates.velo_n[4] = 1
    candidates.velo[0][6, 1] = np.nan
    fitted = fit_full(ideal.geometry, field, candidates, threads=2)
    assert fitted.status[2] == 1 | 1024
    assert fitted.status[6] == 1
    assert fitted.status[4] & 16
    good = [0, 1, 3, 5, 7]
    assert np.array_equal(fitted.qop[good], ideal.fitted.qop[good])
    expected = fit_full_reference(ideal.geometry, field, candidates, threads=2)
    assert np.array_equal(fitted.status, expected.status)


def test_derivative_of_the_energy_loss():
    qop = np.array([1 / 2000.0, -1 / 5000.0])
    after, derivative = changed_energy(qop, np.array([15.0, -15.0]), 139.57)
    assert 1 / np.abs(after) == pytest.approx([1984.96, 5014.99], abs=0.05)
    step = 1e-6 * np.abs(qop)
    up, down = (changed_energy(qop + s * step, np.array([15.0, -15.0]), 139.57)[0] for s in (1, -1))
    assert derivative == pytest.approx((up - down) / (2 * step), rel=1e-6)


def test_scattering_spreads_slopes_as_rotations_do():
    random = np.random.default_rng(4)
    tx, ty, angle, n = 0.3, -0.2, 1e-3, 400_000
    direction = np.array([tx, ty, 1.0]) / np.sqrt(1 + tx**2 + ty**2)
    first = np.cross(direction, [0, 1, 0])
    first /= np.linalg.norm(first)
    a, b = angle * random.normal(size=(2, n, 1))
    turned = direction + a * first + b * np.cross(direction, first)
    expected = np.cov(turned[:, 0] / turned[:, 2], turned[:, 1] / turned[:, 2])
    state = np.array([[0, 0, tx, ty, 1e-4]])
    estimate = Estimate(state, np.zeros((1, 5, 5)), np.zeros(1), np.zeros((1, 3)))
    estimate.scatter(np.array([angle]), np.array([True]))
    assert estimate.covariance[0, 2:4, 2:4] == pytest.approx(expected, rel=0.01, abs=0.003 * angle**2)


def test_states_on_leaning_planes_move_within_them(field):
    """The Jacobian from one plane to the next agrees with numerical differences."""
    here, there = np.array([7826.0, 0.001, 0.0036]), (7896.0, 0.001, 0.0036)
    start = np.array([300.0, -800.0, 0.2, -0.1, 1 / 5000.0])
    steps = np.array([1.0, 1.0, 1e-4, 1e-4, 1e-7])

    def carried(states):
        z = here[0] + here[1] * states[:, 0] + here[2] * states[:, 1]
        return propagate(field, -1, states, z, there, tolerance=1e-6, jacobian=True)

    moved = carried(start[None])
    f = moved.jacobian[0] @ on_plane(start[None], here[None])[0]
    up, down = carried(start + np.diag(steps)).states, carried(start - np.diag(steps)).states
    numeric = (up - down).T / (2 * steps)
    assert f * steps == pytest.approx(numeric * steps, abs=2e-5)
