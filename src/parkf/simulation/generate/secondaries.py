"""Particles from the beam pipe in the magnet and from the SciFi, by their densities in LHCb's simulation.

Particles from the pipe's wall, its flanges and the first SciFi station leave as many SciFi segments as
particles from the collisions, but no VELO segments. False matches contain such segments. The embedded
transport has neither this material nor showers. These particles are therefore drawn from the distributions of
origin and momentum in ten events of LHCb's full simulation: 1116 particles above 100 MeV, with at least 4
SciFi layers.
"""

from dataclasses import dataclass

import numpy as np

from parkf.io.events import Columns, concatenate
from parkf.simulation.particles import ELECTRON, PHOTON, PION, PROTON, masses_of, momentum

# The number of secondaries of a collision is proportional to the number of its prompt charged particles in
# this range of pseudorapidity. LHCb's events have 103.6 of them.
ETA = (2.0, 5.0)
PROMPT_RADIUS = 0.5  # mm from the beam line
PIPE_SLOPE = (0.0100, 0.0125)  # r/z of the beam pipe's wall and flanges
# MeV; width of each momentum component perpendicular to the direction from the origin. Half of the electrons
# have a smaller perpendicular momentum.
HADRON_PULL, ELECTRON_PULL = 330.0, 10.0
PROTON_SHARE = 0.3


@dataclass(frozen=True)
class Source:
    """A range in z, with the number and the kinds of the particles that begin there."""

    z: tuple[float, float]  # ends, mm
    rate: float  # number of particles for each charged particle of the collision
    # Fraction that begins in the pipe. The distance of the others from the beam is log-normal around `radius`
    # (mm); its logarithm has the width `spread`.
    pipe: float
    radius: float
    spread: float
    electrons: float  # fraction of electrons
    electron: tuple[float, float]  # median momentum (MeV) and width of its logarithm
    hadron: tuple[float, float]  # the same of hadrons


SOURCES = (
    Source((2700, 3200), 0.140, 0.8, 75.0, 0.6, 0.59, (6333.0, 0.96), (3733.0, 0.65)),
    Source((3200, 4200), 0.119, 0.8, 150.0, 0.6, 0.60, (4271.0, 0.85), (2967.0, 0.85)),
    Source((4200, 6600), 0.104, 0.7, 300.0, 1.0, 0.22, (1174.0, 0.90), (1429.0, 1.20)),
    Source((6600, 7700), 0.498, 0.84, 300.0, 0.8, 0.55, (527.0, 1.12), (1077.0, 1.04)),
    Source((7700, 8100), 0.216, 0.08, 490.0, 0.95, 0.46, (376.0, 1.30), (858.0, 0.91)),
)


def secondaries(particles: Columns, random: np.random.Generator) -> Columns:
    """Draw the secondaries of collisions; both have columns as in :func:`.interactions.interact`."""
    eta = np.arctanh(particles["pz"] / momentum(particles))
    counted = (eta > ETA[0]) & (eta < ETA[1]) & (np.hypot(particles["x"], particles["y"]) < PROMPT_RADIUS)
    collision, charged = np.unique(particles["collision"][counted], return_counts=True)
    return concatenate([_from(source, collision, charged, random) for source in SOURCES])


def _from(source: Source, collision: np.ndarray, charged: np.ndarray, random: np.random.Generator) -> Columns:
    of = np.repeat(collision, random.poisson(source.rate * charged))
    count = len(of)
    z = source.z[0] + (source.z[1] - source.z[0]) * random.random(count)
    in_pipe = random.random(count) < source.pipe
    wall = z * (PIPE_SLOPE[0] + (PIPE_SLOPE[1] - PIPE_SLOPE[0]) * random.random(count))
    elsewhere = source.radius * np.exp(source.spread * random.standard_normal(count))
    r = np.where(in_pipe, wall, np.maximum(elsewhere, wall))
    azimuth = 2 * np.pi * random.random(count)
    x, y = r * np.cos(azimuth), r * np.sin(azimuth)

    electron = random.random(count) < source.electrons
    median, width = (np.where(electron, *pair) for pair in zip(source.electron, source.hadron, strict=True))
    p = median * np.exp(width * random.standard_normal(count))
    pull = np.where(electron, ELECTRON_PULL, HADRON_PULL) * random.standard_normal((2, count))
    tx, ty = x / z + pull[0] / p, y / z + pull[1] / p
    pz = p / np.sqrt(1 + tx**2 + ty**2)
    proton = ~electron & (random.random(count) < PROTON_SHARE)
    charge = np.where(proton, 1, random.choice([-1, 1], count))
    # The PDG number of the negative electron is positive.
    kind = np.where(electron, -ELECTRON, np.where(proton, PROTON, PION))
    return {
        "collision": of,
        "pdg_id": kind * charge,
        # Electrons come from photons, and hadrons from pions.
        "mother": np.where(electron, PHOTON, PION),
        "charge": charge,
        "mass": masses_of(kind),
        "x": x,
        "y": y,
        "z": z,
        "px": tx * pz,
        "py": ty * pz,
        "pz": pz,
        "z_end": np.full(count, np.inf),
    }
