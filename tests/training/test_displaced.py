"""Tracks that are born in the magnet determine terms that long tracks do not."""

import numpy as np
import pytest
from toy_steps import STEPS, train_rows

from parkf.detector.geometry import SCIFI_PLANES
from parkf.detector.transport import propagate
from parkf.model.codegen.numpy_step import numpy_step
from parkf.training.displaced import displaced_rows
from parkf.training.rows import residuals

SEED = 31
GAP = 3  # between stations, where ty turns most
STEP = STEPS["T"]


@pytest.fixture(scope="module")
def displaced(field, geometry):
    print(f"seed {SEED}")
    return displaced_rows(field, geometry, seed=SEED, threads=1)


def _long_tracks(field, geometry, count=8_000):
    """Rows of tracks from the origin in the gap; their truth is scattered, and both polarities are there."""
    random = np.random.Generator(np.random.Philox(SEED))
    qop = np.sign(random.uniform(-1, 1, count)) / (2e3 * 25 ** random.uniform(size=count))
    slopes = random.uniform(-1, 1, (count, 2)) * (0.3, 0.25)
    states, z, rows = np.column_stack([np.zeros((count, 2)), slopes, qop]), np.zeros(count), {}
    for end, plane in zip("0e", (SCIFI_PLANES[GAP], SCIFI_PLANES[GAP + 1]), strict=True):
        moved = propagate(field, +1, states, z, tuple(geometry.planes()[plane]), tolerance=1e-5, threads=1)
        states, z = moved.states, moved.z
        rows |= dict(zip((f"x{end}", f"y{end}", f"tx{end}", f"ty{end}"), states.T[:4], strict=True))
        rows["z1" if end == "e" else "z0"] = z
    # The other polarity bends the other charge in the same way.
    rows |= {"qop": qop, "p_true": 1 / np.abs(qop), "polarity": np.ones(count)}
    flip = random.uniform(size=count) < 0.5
    rows["qop"], rows["polarity"] = np.where(flip, -qop, qop), np.where(flip, -1.0, 1.0)
    rows |= {"event": np.arange(count), "particle": np.zeros(count, int), "set": np.full(count, 2 * GAP)}
    lever = rows["z1"] - rows["z0"]
    for name in ("x", "y"):
        kick = 1.5 * np.abs(qop) * random.standard_normal(count)
        rows |= {f"t{name}1": rows[f"t{name}e"] + kick, f"{name}1": rows[f"{name}e"] + lever * kick / 2}
        rows[f"{name}1"] += 0.3 * lever * np.abs(qop) * random.standard_normal(count)
    there = np.isfinite(z) & (np.abs(rows["x0"]) < 2500) & (np.abs(rows["y0"]) < 2300)
    return {name: column[there] for name, column in rows.items()}


def test_ty_of_tracks_that_are_born_in_the_magnet(field, geometry, displaced):
    """Only a fit of p that knows such tracks describes them; long tracks stay far below the scattering."""
    long = _long_tracks(field, geometry)
    functions, misfit = numpy_step(STEP), {}
    for others in (None, displaced):
        (result,) = train_rows([long], STEP, numbers=range(GAP, GAP + 1), displaced=others)
        p = np.array(result.values)
        for name, rows in (("long", long), ("displaced", displaced[GAP])):
            delta = residuals(functions.predict(p, rows), rows, "e")["ty"] / functions.noise(p, rows)["ty"]
            misfit[name, others is not None] = np.quantile(np.abs(delta), 0.95)
    print(misfit)
    assert misfit["displaced", True] < 0.4 * misfit["displaced", False]
    assert misfit["long", True] < 0.7


def test_rows_are_carried_by_runge_kutta(field, geometry, displaced):
    """Each row ends where Runge–Kutta carries it, on the next layer, inside of it."""
    rows = {name: column[:500] for name, column in displaced[0].items()}
    start = np.column_stack([rows[f"{name}0"] for name in ("x", "y", "tx", "ty")] + [rows["qop"]])
    moved = propagate(field, +1, start, rows["z0"], (rows["z1"], 0.0, 0.0), tolerance=1e-6)
    for column, name in enumerate(("x", "y", "tx", "ty")):
        assert np.abs(moved.states[:, column] - rows[f"{name}e"]).max() < 1e-4
        assert np.array_equal(rows[f"{name}e"], rows[f"{name}1"])
    z0, dzdx, dzdy = geometry.planes()[SCIFI_PLANES[1]]
    assert np.abs(z0 + dzdx * rows["xe"] + dzdy * rows["ye"] - rows["z1"]).max() < 1e-6
    assert len(displaced) == len(STEP.sets)


def test_the_number_of_threads_changes_nothing(field, geometry, displaced):
    for one, two in zip(displaced, displaced_rows(field, geometry, seed=SEED, threads=2), strict=True):
        assert all(np.array_equal(one[name], two[name]) for name in one)
