"""The full fit: exact where nothing scatters, and right where everything does."""

import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from parkf.kalman.reference.gain import Estimate, changed_energy, on_plane

from parkf.detector.description import Description
from parkf.detector.geometry import Geometry
from parkf.kalman.candidates import from_arrow
from parkf.kalman.reference import fit_full
from parkf.simulation.gun import shoot
from parkf.simulation.pattern import find_candidates
from parkf.simulation.simulate import simulate
from parkf.tables import CANDIDATES, PARTICLES
from parkf.transport import propagate
from parkf.validation.core import fit_core

DATA = Path(__file__).parents[2] / "data"
NAMES = ("x", "y", "tx", "ty", "qop")


def without_material(geometry):
    """The same planes in a detector that neither scatters nor slows, and measures everywhere it can."""
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
    # Nothing is misplaced, either.
    content["scifi"]["alignment_error"] = 0.0
    return Geometry(Description.model_validate(content), geometry.frames)


def tracks(folder, geometry, field, *, events, seed, p_range=(3000.0, 100_000.0)):
    """Candidates of pions from the origin, by truth, and their true state there."""
    paths = {name: folder / f"{name}.parquet" for name in ("particles", "hits", "candidates")}
    columns = shoot(events=events, per_event=25, seed=seed, p_range=p_range)
    with PARTICLES.writer(paths["particles"]) as writer:
        writer.write_table(pa.table(columns, schema=PARTICLES.schema))
    detector = {"geometry": geometry, "field": field, "polarity": -1}
    simulate(paths["particles"], None, paths["hits"], **detector, seed=seed, threads=2)
    find_candidates(paths["hits"], paths["candidates"], **detector, workers=2, matched=True)
    table = CANDIDATES.open(paths["candidates"]).read()
    row = 25 * table["event"].to_numpy() + table["particle"].to_numpy()
    p = np.sqrt(columns["px"] ** 2 + columns["py"] ** 2 + columns["pz"] ** 2)
    truth = {
        "tx": (columns["px"] / columns["pz"])[row],
        "ty": (columns["py"] / columns["pz"])[row],
        "qop": (columns["charge"] / p)[row],
    }
    return SimpleNamespace(candidates=from_arrow(table, np.dtype(np.float64)), truth=truth)


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
        # The UT says little of q/p; what its ndof lacks shows in SciFi's.
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
        # Scattering and energy loss have tails that no covariance knows.
        assert 0.95 < fit_core(pull[good]).width < 1.2, name
    relative = sample.truth["qop"] / fitted.qop - 1
    assert fit_core(relative[good]).width < 0.005
    assert abs(fit_core(relative[good]).mean) < 0.001


def test_threads_do_not_change_a_bit(ideal, field):
    again = fit_full(ideal.geometry, field, ideal.candidates, threads=1)
    for name in NAMES:
        assert np.array_equal(getattr(again, name), getattr(ideal.fitted, name), equal_nan=True)


def test_bad_input_is_flagged_and_harms_no_neighbour(ideal, field):
    candidates = copy.deepcopy(ideal.candidates)
    candidates.qop[2] = np.nan
    candidates.velo_n[4] = 1
    candidates.velo[0][6, 1] = np.nan
    fitted = fit_full(ideal.geometry, field, candidates, threads=2)
    assert fitted.status[2] == fitted.status[6] == 1
    assert fitted.status[4] & 16
    good = [0, 1, 3, 5, 7]
    assert np.array_equal(fitted.qop[good], ideal.fitted.qop[good])


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
    """∂(state on the next plane)/∂(state on this plane) against differences."""
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
