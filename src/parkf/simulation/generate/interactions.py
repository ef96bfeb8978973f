"""Nuclear interactions and photon conversions before the magnet, in a simple model.

The transport scatters particles and slows them down; it makes no new ones. But a hadron that interacts leaves
a VELO segment without a SciFi segment, and its products leave SciFi segments without a VELO segment: false
matches are made of these. Here both processes are equally likely at every z up to the magnet (VELO, RF foil,
RICH 1, UT lie all along), at rates that give about as many products per event as LHCb's full simulation.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.io.events import Columns, concatenate, select

Z_END = 2700.0
"""mm; particles interact with material up to here."""

INTERACTION_LENGTH = 15_000.0
"""mm; mean free path of hadrons, 16% of which interact before `Z_END`."""

CONVERSION_LENGTH = 10_000.0
"""mm; mean free path of photons; 24% convert, as in 0.3 radiation lengths."""

MEAN_CHARGED = 2.5
MEAN_NEUTRAL = 1.5
"""Mean numbers of products of an interaction, beside one charged product."""

TRANSVERSE = 250.0
"""MeV; width of a product's momentum along each axis across its parent's."""

PION, PROTON, ELECTRON, PHOTON = 211, 2212, 11, 22
MASSES = {PION: 139.57039, PROTON: 938.27209, ELECTRON: 0.51099895}
PROTON_SHARE = 0.25


def interact(particles: Columns, random: np.random.Generator) -> Columns:
    """Let hadrons interact and photons convert.

    Parameters
    ----------
    particles : dict of (n,) arrays
        collision, pdg_id, mother, charge, mass, x, y, z of production, px, py, pz, and `z_end` of
        decays (infinite where there is none); mm and MeV.
    random : Generator
        Draws everything.

    Returns
    -------
    dict of (m,) arrays
        The charged particles with `z_end` of those that interact, then the products.
    """
    hadron = np.abs(particles["pdg_id"]) > 100
    photon = particles["pdg_id"] == PHOTON
    path = np.where(hadron, INTERACTION_LENGTH, np.where(photon, CONVERSION_LENGTH, np.inf))
    z = particles["z"] + path * random.standard_exponential(len(path))
    struck = (z < np.minimum(particles["z_end"], Z_END)) & (particles["pz"] > 0)
    particles = particles | {"z_end": np.where(struck, z, particles["z_end"])}
    hadrons, photons = (select(particles, struck & kind) for kind in (hadron, photon))
    charged = select(particles, ~photon)
    parts = [charged, _hadronic_products(hadrons, random), _pairs(photons, random)]
    return concatenate(parts)


def _hadronic_products(parents: Columns, random: np.random.Generator) -> Columns:
    charged = 1 + random.poisson(MEAN_CHARGED, len(parents["z"]))
    neutral = random.poisson(MEAN_NEUTRAL, len(charged))
    # Exponential random numbers divided by their sum divide the momentum uniformly.
    parent = np.repeat(np.arange(len(charged)), charged)
    share = random.standard_exponential(len(parent))
    total = np.bincount(parent, weights=share, minlength=len(charged)) + random.standard_gamma(neutral)
    pdg_id = np.where(random.random(len(parent)) < PROTON_SHARE, PROTON, PION)
    charge = np.where(pdg_id == PROTON, 1, random.choice([-1, 1], len(parent)))
    pull = TRANSVERSE * random.standard_normal((2, len(parent)))
    return _products(parents, parent, share / total[parent], pull, pdg_id * charge, charge)


def _pairs(parents: Columns, random: np.random.Generator) -> Columns:
    share = random.random(len(parents["z"]))
    parent = np.repeat(np.arange(len(share)), 2)
    charge = np.tile([-1, 1], len(share))
    both = np.column_stack([share, 1 - share]).ravel()
    return _products(parents, parent, both, np.zeros((2, len(parent))), -ELECTRON * charge, charge)


def _products(
    parents: Columns,
    parent: NDArray[Any],
    share: NDArray[Any],
    pull: NDArray[Any],
    pdg_id: NDArray[Any],
    charge: NDArray[Any],
) -> Columns:
    """Particles that start where their parents end, with a fraction of the momentum and a transverse kick."""
    of = select(parents, parent)
    flight = of["z_end"] - of["z"]
    return {
        "collision": of["collision"],
        "pdg_id": pdg_id,
        "mother": of["pdg_id"],
        "charge": charge,
        "mass": np.array([MASSES[kind] for kind in np.abs(pdg_id).tolist()]),
        "x": of["x"] + flight * of["px"] / of["pz"],
        "y": of["y"] + flight * of["py"] / of["pz"],
        "z": of["z_end"],
        "px": share * of["px"] + pull[0],
        "py": share * of["py"] + pull[1],
        "pz": share * of["pz"],
        "z_end": np.full(len(share), np.inf),
    }
