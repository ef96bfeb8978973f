"""A small sample of steps in an analytic field: true origins, scattered targets, Runge-Kutta's targets."""

from itertools import pairwise

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.io.tables import STEP_DATA

SCIFI = (7826, 7896, 7966, 8036, 8508, 8578, 8648, 8718, 9193, 9263, 9333, 9403)
UT = (2327.5, 2372.5, 2597.5, 2642.5)
LEAN = 0.003601
# z of origin and target of each set.
HOPS = {
    "V": [(100.0, 150.0), (150.0, 100.0)],
    "VUT": [(700.0, UT[0])],
    "UT": [*pairwise(UT), *((after, before) for before, after in pairwise(UT))],
    "UTTF": [(2665.0, 7826.0)],
    "TFT": [(7826.0, 7826.0)],
    "T": [hop for hop in pairwise(SCIFI) for _ in range(2)],
}
SCATTERING = {"V": 1.22, "VUT": 5.4, "UT": 1.2, "UTTF": 2.93, "TFT": 0.0, "T": 1.4}


def field_map():
    """A map with a bell-shaped By over z and the first-order Bz that belongs to it; MagDown."""
    corner, spacing = np.array([-4000.0, -3600.0, -500.0]), np.array([400.0, 400.0, 100.0])
    counts = (21, 19, 101)
    _, y, z = np.meshgrid(
        *(corner[a] + spacing[a] * np.arange(n) for a, n in enumerate(counts)), indexing="ij"
    )
    by = -1.04 * np.exp(-0.5 * ((z - 5000.0) / 1500.0) ** 2)
    bz = -by * y * (z - 5000.0) / 1500.0**2
    return FieldMap(corner, spacing, np.stack([0 * by, by, bz], axis=-1).astype(np.float32))


def sample(step, rows_of_set, field, seed=1):
    """Columns of STEP_DATA as arrays, one set after the other."""
    random = np.random.default_rng(seed)
    parts = []
    for number, (z0, z1) in enumerate(HOPS[step]):
        n = rows_of_set
        p = np.exp(random.uniform(np.log(2e3), np.log(6e4), n))
        charge, polarity = random.choice([-1.0, 1.0], (2, n))
        tx, ty = random.uniform(-0.2, 0.2, n), random.uniform(-0.2, 0.2, n)
        if step == "T":
            ty = np.abs(ty) * (1 - 2 * (number % 2))
        # VELO modules are spread along the beam.
        along = random.uniform(0.0, 550.0, n) if step == "V" else np.zeros(n)
        start_z, end_z = z0 + along, z1 + along
        x, y = tx * start_z + random.normal(0, 1, n), ty * start_z
        if step in ("T", "TFT"):
            start_z = start_z + (LEAN * y if step == "T" else 0.0)
            end_z = z1 + LEAN * (y + ty * (z1 - start_z))
        local = p - 4.0
        states = np.column_stack([x, y, tx, ty, charge / local])
        ends = np.empty((n, 5))
        for sign in (-1, 1):
            own = polarity == sign
            moved = propagate(field, sign, states[own], start_z[own], (end_z[own], 0.0, 0.0), threads=1)
            assert moved.ok.all()
            ends[own] = moved.states
        sigma = (SCATTERING[step] / local)[:, None]
        kick = sigma * random.normal(size=(n, 2))
        place = 0.5 * (end_z - start_z)[:, None] * (kick + sigma * random.normal(size=(n, 2)) / 3**0.5)
        truth = ends[:, :4] + np.column_stack([place, kick])
        columns = {
            "event": np.arange(n) // 100,
            "particle": np.arange(n) % 100 + 100 * number,
            "pdg_id": 211 * charge,
            "charge": charge,
            "polarity": polarity,
            "set": np.full(n, number),
            "qop": charge / p,
            "z0": start_z,
            "z1": end_z,
            "p_true": local,
        }
        for index, name in enumerate(("x", "y", "tx", "ty")):
            columns |= {f"{name}0": states[:, index], f"{name}1": truth[:, index], f"{name}e": ends[:, index]}
        parts.append(columns)
    return {name: np.concatenate([part[name] for part in parts]) for name, _ in STEP_DATA.columns}
