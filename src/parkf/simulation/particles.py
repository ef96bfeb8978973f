"""Particles of `parkf.io.tables.PARTICLES`: kinds, momenta, and the choice of tracks to train steps on."""

import numpy as np

from parkf.detector.description import Beam
from parkf.detector.geometry import SCIFI_PLANES, VELO_PLANES, Z_IN, Z_OUT
from parkf.detector.transport.particles import FEWEST_VELO_MODULES
from parkf.io.events import Columns, particle_key, select

# PDG ids, and masses in MeV (PDG).
ELECTRON, MUON, PHOTON, PION, KAON, PROTON = 11, 13, 22, 211, 321, 2212
MASSES = {ELECTRON: 0.51099895, MUON: 105.6583755, PION: 139.57039, KAON: 493.677, PROTON: 938.27209}
P_MIN, ETA_RANGE = 1400.0, (1.9, 5.1)  # momentum (MeV) and pseudorapidity of particles to train on
# Largest scattering in one layer of a particle to train on, in widths of its core. Harder ones are mostly
# elastic scatterings off nuclei by 20 to 500 MeV.
HARDEST = 30.0


def masses_of(pdg_id: np.ndarray) -> np.ndarray:
    """Masses (n,) in MeV of particles and antiparticles of `MASSES`."""
    return np.array([MASSES[kind] for kind in np.abs(pdg_id).tolist()])


def momentum(particles: Columns) -> np.ndarray:
    """Momenta (n,) in MeV."""
    return np.sqrt(particles["px"] ** 2 + particles["py"] ** 2 + particles["pz"] ** 2)


def shot(
    events: range,
    beam: Beam,
    vertex: np.ndarray,
    *,
    p: np.ndarray,
    tx: np.ndarray,
    ty: np.ndarray,
    **kind: np.ndarray,
) -> Columns:
    """Columns of ``parkf.io.tables.PARTICLES`` of n particles from collisions, equally many in each event.

    `vertex` (n, 3) is where they begin, in widths of the beam spot. `p` (n,) are momenta in MeV, `tx` and
    `ty` (n,) slopes, and `kind` has the columns ``charge`` and ``mass``.
    """
    each = len(p) // len(events)
    pz = p / np.sqrt(1 + tx**2 + ty**2)
    return {
        "event": np.repeat(np.arange(events.start, events.stop, dtype=np.int32), each),
        "particle": np.tile(np.arange(each, dtype=np.int32), len(events)),
        **kind,
        "x": beam.x + beam.sigma_x * vertex[:, 0],
        "y": beam.y + beam.sigma_y * vertex[:, 1],
        "z": beam.sigma_z * vertex[:, 2],
        "px": tx * pz,
        "py": ty * pz,
        "pz": pz,
        "z_end": np.full(len(p), np.inf),
    }


def in_acceptance(particles: Columns, eta: tuple[float, float], p_min: float) -> np.ndarray:
    """Mask (n,) of particles in a range of pseudorapidity and above a momentum in MeV."""
    transverse = np.hypot(particles["px"], particles["py"])
    pz = particles["pz"]
    low, high = (np.sinh(each) for each in eta)
    return (pz > low * transverse) & (pz < high * transverse) & (np.hypot(transverse, pz) > p_min)


def select_particles(particles: Columns) -> np.ndarray:
    """Mask of particles to train on: p and η of usable tracks, and no electrons, because they radiate."""
    return in_acceptance(particles, ETA_RANGE, P_MIN) & (np.abs(particles["pdg_id"]) != ELECTRON)


def usable_states(states: Columns) -> np.ndarray:
    """Mask of states that a step may start from or end at: on a sensor, or at an end of the magnet."""
    plane = states["plane"]
    return states["active"] | (plane == Z_IN) | (plane == Z_OUT)


def long_like(plane: np.ndarray, active: np.ndarray, track: np.ndarray, count: int) -> np.ndarray:
    """Mask (count,) of tracks that may be long: at least three VELO hits, and the last SciFi layer reached.

    `plane`, `active` and `track` describe true states, (m,) each: their plane, whether they are inside its
    sensitive area, and the number of their track from 0.
    """
    velo = np.bincount(track[active & (plane < VELO_PLANES.stop)], minlength=count)
    last = np.bincount(track[active & (plane == SCIFI_PLANES[-1])], minlength=count)
    return (velo >= FEWEST_VELO_MODULES) & (last > 0)


def without_kinks(states: Columns) -> Columns:
    """Leave out the states of particles whose hardest scattering exceeds `HARDEST`.

    Behind such a kink a particle does not come from the beam any more. Few particles do that, but their
    misfit would dominate every mean square, and no form is asked to describe them. `states` have the columns
    of :func:`parkf.detector.transport.track_through`.
    """
    last = np.flatnonzero(np.diff(particle_key(states), append=-1) != 0)
    straight = states["hardest"][last] < HARDEST
    return select(states, np.repeat(straight, np.diff(last, prepend=-1)))
