"""Decays of pions and kaons behind the UT, in the magnet and the SciFi.

What decays before that ends in the generator, whose particles fly straight. Behind the UT they do not: the
generator draws where a particle decays and into what, and the transport starts the product where its mother
then is. A track of both is a ghost, since no particle has 70 % of its hits. It fits well: the angle between
a muon and its pion is 30 MeV/p at most.
"""

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.io.events import Columns, particle_key, select
from parkf.simulation.generate.interactions import Z_END

BEHIND = 9500.0
"""mm; what decays behind the last SciFi layer does not matter."""

PION, KAON, MUON = 211, 321, 13
MASSES = {PION: 139.57039, KAON: 493.677, MUON: 105.6583755}
NEUTRAL_PION = 134.9768
"""MeV (PDG)."""

LIFETIMES = {PION: 7804.5, KAON: 3711.0}
"""mm; mean lifetimes times c (PDG)."""

TO_MUON, TO_PION = 0.6356, 0.2067
"""Fractions of the kaon's decays to μν and to ππ⁰ (PDG). Decays to three particles leave no track here."""

LEAST_MOMENTUM = 300.0
"""MeV; softer products are left out, as in the generator."""


def decay_behind_ut(particles: Columns, random: np.random.Generator) -> tuple[Columns, Columns]:
    """Let pions and kaons decay between the UT and the end of the SciFi.

    Parameters
    ----------
    particles : dict of (n,) arrays
        Charged particles, columns as in :func:`parkf.simulation.generate.interactions.interact`.
    random : Generator
        Draws everything.

    Returns
    -------
    mothers, products : dict of arrays
        The particles with `z_end` of those that decay, (n,), and their charged products, (m,). A
        product begins at exactly its mother's `z_end`. Its position and direction are as if there
        were no field, until :func:`placed` moves them.
    """
    kind = np.abs(particles["pdg_id"])
    p = _momentum(particles)
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
    direction = np.stack([of["px"], of["py"], of["pz"]]) / p[rows]
    momentum = _turned(np.stack([aside * np.cos(angle), aside * np.sin(angle), forward]), direction)
    flight = of["z_end"] - of["z"]
    pdg_id = np.where(to_muon, -MUON, PION) * of["charge"]
    products = of | {
        "pdg_id": pdg_id.astype(of["pdg_id"].dtype),
        "mother": of["pdg_id"],
        "mass": new_mass,
        "x": of["x"] + flight * of["px"] / of["pz"],
        "y": of["y"] + flight * of["py"] / of["pz"],
        "z": of["z_end"],
        **dict(zip(("px", "py", "pz"), momentum, strict=True)),
        "z_end": np.full(len(rows), np.inf),
    }
    kept = momentum[2] > LEAST_MOMENTUM
    return mothers, select(products, kept)


def mothers_of(particles: Columns) -> NDArray[np.int64]:
    """Row of the particle that each one, (n,), is a product of behind the UT; -1 if it is none."""
    ends = np.flatnonzero(np.isfinite(particles["z_end"]))
    born = np.flatnonzero(particles["z"] > Z_END)
    mothers = np.full(len(particles["z"]), -1)
    known = {
        (event, z): row
        for event, z, row in zip(
            particles["event"][ends].tolist(), particles["z_end"][ends].tolist(), ends.tolist(), strict=True
        )
    }
    of = zip(particles["event"][born].tolist(), particles["z"][born].tolist(), strict=True)
    mothers[born] = [known.get(place, -1) for place in of]
    return mothers


def placed(
    particles: Columns, mothers: NDArray[np.int64], states: Columns, *, field: FieldMap, polarity: int
) -> Columns:
    """Move products of decays to where their mothers are; return those whose mothers came that far.

    Parameters
    ----------
    particles : dict of (n,) arrays
        Columns of `parkf.io.tables.PARTICLES`.
    mothers : (n,) int
        Of :func:`mothers_of`.
    states : dict of (m,) arrays
        True states of all other particles, sorted by event, particle and z.
    field, polarity
        As of :func:`parkf.detector.transport.propagate`.
    """
    rows = np.flatnonzero(mothers >= 0)
    of = select(particles, mothers[rows])
    new = select(particles, rows)
    known = particle_key(states)
    last = np.searchsorted(known, particle_key(of), side="right") - 1
    # Carried from the mother's last state in vacuum: only air lies between.
    reached = (last >= 0) & (known[last] == particle_key(of))
    last, of, new = last[reached], select(of, reached), select(new, reached)
    start = np.column_stack([states[name][last].astype(np.float64) for name in ("x", "y", "tx", "ty")])
    qop = of["charge"] / states["p"][last]
    at = propagate(
        field,
        polarity,
        np.column_stack([start, qop]),
        states["z"][last].astype(np.float64),
        (new["z"], 0.0, 0.0),
        threads=1,
    )
    x, y, tx, ty, _ = at.states[at.ok].T
    of, new, now = select(of, at.ok), select(new, at.ok), states["p"][last][at.ok]
    # The momentum in the mother's direction as it was, and from there to the mother's as it is.
    before = np.stack([of["px"], of["py"], of["pz"]]) / _momentum(of)
    after = np.stack([tx, ty, np.ones(len(tx))]) / np.sqrt(1 + tx**2 + ty**2)
    momentum = np.stack([new["px"], new["py"], new["pz"]])
    momentum = _turned(_turned(momentum, before, back=True), after) * now / _momentum(of)
    return new | {"x": x, "y": y, **dict(zip(("px", "py", "pz"), momentum, strict=True))}


def _momentum(particles: Columns) -> NDArray[np.float64]:
    p: NDArray[np.float64] = np.sqrt(particles["px"] ** 2 + particles["py"] ** 2 + particles["pz"] ** 2)
    return p


def _turned(
    vectors: NDArray[np.float64], direction: NDArray[np.float64], *, back: bool = False
) -> NDArray[np.float64]:
    """Rotate vectors (3, n) by the rotation of the z axis to unit vectors (3, n), or by its inverse."""
    x, y, z = direction
    # Rodrigues' rotation about the axis across both; directions are never opposite.
    matrix = np.array(
        [
            [1 - x * x / (1 + z), -x * y / (1 + z), x],
            [-x * y / (1 + z), 1 - y * y / (1 + z), y],
            [-x, -y, z],
        ]
    )
    turned: NDArray[np.float64] = np.einsum("jin,jn->in" if back else "ijn,jn->in", matrix, vectors)
    return turned
