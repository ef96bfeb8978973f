"""A particle gun: single particles with flat slopes and log-uniform momenta, for tests and studies."""

import numpy as np

from parkf.io.events import Columns
from parkf.io.tables import PARTICLES
from parkf.simulation.particles import MASSES, PION
from parkf.simulation.random_numbers import Stream, keyed_generator


def shoot(
    *,
    events: int,
    per_event: int,
    seed: int,
    p_range: tuple[float, float] = (1500.0, 100_000.0),
    slope_max: tuple[float, float] = (0.25, 0.2),
) -> Columns:
    """Pions of both charges from the origin, as columns of `parkf.io.tables.PARTICLES`.

    log p is uniform in `p_range` (MeV), tx and ty up to `slope_max` (rad). A seed determines all particles.
    """
    drawn = [keyed_generator(seed, event, Stream.GUN).random((per_event, 4)) for event in range(events)]
    u = np.concatenate(drawn)
    p = p_range[0] * (p_range[1] / p_range[0]) ** u[:, 0]
    tx, ty = (limit * (2 * u[:, axis] - 1) for axis, limit in ((1, slope_max[0]), (2, slope_max[1])))
    charge = np.where(u[:, 3] < 0.5, 1, -1)
    pz = p / np.sqrt(1 + tx**2 + ty**2)
    columns = dict.fromkeys(PARTICLES.schema.names, np.zeros(len(u))) | {
        "event": np.repeat(np.arange(events), per_event),
        "particle": np.tile(np.arange(per_event), events),
        "pdg_id": charge * PION,
        "charge": charge,
        "mass": np.full(len(u), MASSES[PION]),
        "px": tx * pz,
        "py": ty * pz,
        "pz": pz,
        "z_end": np.full(len(u), np.inf),
    }
    return {name: columns[name].astype(kind.to_pandas_dtype()) for name, kind in PARTICLES.columns}
