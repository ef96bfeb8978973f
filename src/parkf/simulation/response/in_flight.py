"""Decays of pions and kaons behind the UT, in the magnet and the SciFi.

Decays in front of this region are left to the generator, where particles fly straight. Behind the UT, the
magnet bends them. There the generator draws the z of the decay and the products, and the transport starts a
product at the position of its mother at this z. A track with hits of mother and product still fits well,
because the angle between a muon and its pion is 30 MeV/p at most.
"""

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.io.events import Columns, particle_key, select
from parkf.simulation.generate.interactions import Z_END, at_end
from parkf.simulation.particles import KAON, MASSES, MUON, PION, momentum

BEHIND = 9500.0  # mm; decays behind the last SciFi layer do not matter
NEUTRAL_PION = 134.9768  # MeV (PDG)
LIFETIMES = {PION: 7804.5, KAON: 3711.0}  # mm; mean lifetimes times c (PDG)
# Fractions of the kaon's decays to μν and to ππ⁰ (PDG). The products of decays to three particles are left
# out.
TO_MUON, TO_PION = 0.6356, 0.2067
LEAST_MOMENTUM = 300.0  # MeV; softer products are left out, as in the generator


def decay_behind_ut(particles: Columns, random: np.random.Generator) -> tuple[Columns, Columns]:
    """Let pions and kaons decay between the UT and the end of the SciFi.

    Particles are charged, (n,), with columns as in :func:`parkf.simulation.generate.interactions.interact`.
    Return the particles (n,), with `z_end` set for those that decay, and the charged products (m,). A product
    begins at exactly its mother's `z_end`. Its position and direction are computed without a field, until
    :func:`placed` corrects them.
    """
    kind = np.abs(particles["pdg_id"])
    p = momentum(particles)
    path = np.full(len(p), np.inf)
    for one, life in LIFETIMES.items():
        path[kind == one] = (life / MASSES[one] * particles["pz"])[kind == one]
    z = np.maximum(particles["z"], Z_END) + path * random.standard_exponential(len(p))
    mode, cosine, azimuth = random.random((3, len(p)))
    decays = (z < BEHIND) & (particles["z_end"] > z)
    mothers = particles | {"z_end": np.where(decays, z, particles["z_end"])}

    rows = np.flatnonzero(decays & ((kind == PION) | (mode < TO_MUON + TO_PION)))
    of = select(mothers, rows)
    of_kaon = kind[rows] == KAON
    to_muon = ~of_kaon | (mode[rows] < TO_MUON)
    mass = np.where(of_kaon, MASSES[KAON], MASSES[PION])
    new_mass = np.where(to_muon, MASSES[MUON], MASSES[PION])
    # In the mother's frame both products have this momentum (PDG, Kinematics, 49.17).
    other = np.where(to_muon, 0.0, NEUTRAL_PION)
    turn = np.sqrt((mass**2 - (new_mass + other) ** 2) * (mass**2 - (new_mass - other) ** 2)) / (2 * mass)
    along = turn * (2 * cosine[rows] - 1)
    forward = (np.hypot(p[rows], mass) * along + p[rows] * np.hypot(turn, new_mass)) / mass
    aside = np.sqrt(turn**2 - along**2)
    angle = 2 * np.pi * azimuth[rows]
    direction = _vectors(of) / p[rows]
    px, py, pz = _turned(np.stack([aside * np.cos(angle), aside * np.sin(angle), forward]), direction)
    pdg_id = np.where(to_muon, -MUON, PION) * of["charge"].astype(int)
    new = {"pdg_id": pdg_id, "mass": new_mass, "px": px, "py": py, "pz": pz}
    return mothers, select(of | at_end(of) | new, pz > LEAST_MOMENTUM)


def mothers_of(particles: Columns) -> np.ndarray:
    """Return the row (n,) of each particle's mother if the mother decayed behind the UT, else -1."""
    ends = np.flatnonzero(np.isfinite(particles["z_end"]))
    born = np.flatnonzero(particles["z"] > Z_END)
    mothers = np.full(len(particles["z"]), -1)
    event, z, z_end = (particles[name].tolist() for name in ("event", "z", "z_end"))
    known = {(event[row], z_end[row]): row for row in ends.tolist()}
    mothers[born] = [known.get((event[row], z[row]), -1) for row in born.tolist()]
    return mothers


def placed(
    particles: Columns, mothers: np.ndarray, states: Columns, *, field: FieldMap, polarity: int
) -> Columns:
    """Move products of decays to the positions of their mothers; drop products whose mothers ended before.

    Particles are columns (n,) of `parkf.io.tables.PARTICLES`. `mothers` (n,) has the rows of their mothers,
    from :func:`mothers_of`. `states` (m,) are true states of all other particles, sorted by event, particle
    and z.
    """
    rows = np.flatnonzero(mothers >= 0)
    of, new = select(particles, mothers[rows]), select(particles, rows)
    known = particle_key(states)
    last = np.searchsorted(known, particle_key(of), side="right") - 1
    # The mother's last state is carried in vacuum to the start of the product, because only air follows.
    reached = (last >= 0) & (known[last] == particle_key(of))
    of, new, state = select(of, reached), select(new, reached), select(states, last[reached])
    start = np.column_stack([state[name].astype(np.float64) for name in ("x", "y", "tx", "ty")])
    at = propagate(
        field,
        polarity,
        np.column_stack([start, of["charge"] / state["p"]]),
        state["z"].astype(np.float64),
        (new["z"], 0.0, 0.0),
        threads=1,
    )
    x, y, tx, ty, _ = at.states[at.ok].T
    of, new, now = select(of, at.ok), select(new, at.ok), state["p"][at.ok]
    # Rotate momenta from the mother's direction without a field to its direction in the field.
    before = _vectors(of) / momentum(of)
    after = np.stack([tx, ty, np.ones(len(tx))]) / np.sqrt(1 + tx**2 + ty**2)
    px, py, pz = _turned(_turned(_vectors(new), before, back=True), after) * now / momentum(of)
    return new | {"x": x, "y": y, "px": px, "py": py, "pz": pz}


def _vectors(particles: Columns) -> np.ndarray:
    """Momentum vectors (3, n)."""
    return np.stack([particles["px"], particles["py"], particles["pz"]])


def _turned(vectors: np.ndarray, direction: np.ndarray, *, back: bool = False) -> np.ndarray:
    """Rotate vectors (3, n) by the rotation of the z axis to unit vectors (3, n), or by its inverse."""
    x, y, z = direction
    # Rodrigues' rotation about the axis that is perpendicular to both directions, which are never opposite.
    across = -x * y / (1 + z)
    matrix = np.array([[1 - x * x / (1 + z), across, x], [across, 1 - y * y / (1 + z), y], [-x, -y, z]])
    return np.einsum("jin,jn->in" if back else "ijn,jn->in", matrix, vectors)
