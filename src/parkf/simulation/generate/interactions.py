"""Nuclear interactions and photon conversions before the magnet, in a simple model.

The transport scatters particles and slows them down, but it makes no new ones. A hadron that interacts leaves
a VELO segment without a SciFi segment, and its products leave SciFi segments without a VELO segment. The
pattern recognition combines such segments to false matches. In this model, both processes are equally likely
at every z up to the magnet, because VELO, RF foil, RICH 1 and UT fill this range. The rates lead to about as
many products per event as in LHCb's full simulation.
"""

import numpy as np

from parkf.io.events import Columns, concatenate, select
from parkf.simulation.particles import ELECTRON, PHOTON, PION, PROTON, masses_of

Z_END = 2700.0  # mm; particles interact with material up to here
INTERACTION_LENGTH = 15_000.0  # mm; mean free path of hadrons, 16% of which interact before Z_END
CONVERSION_LENGTH = 10_000.0  # mm; mean free path of photons; 24% convert, as in 0.3 radiation lengths
# Mean numbers of products of an interaction, in addition to one charged product.
MEAN_CHARGED, MEAN_NEUTRAL = 2.5, 1.5
TRANSVERSE = 250.0  # MeV; width of a product's momentum along each axis across its parent's
PROTON_SHARE = 0.25


def interact(particles: Columns, random: np.random.Generator) -> Columns:
    """Let hadrons interact and photons convert.

    Particles have the columns of `parkf.io.tables.PARTICLES` except for event and number, (n,) each. Return
    the charged particles, with the `z_end` of those that interact, then the products.
    """
    hadron = np.abs(particles["pdg_id"]) > 100
    photon = particles["pdg_id"] == PHOTON
    path = np.where(hadron, INTERACTION_LENGTH, np.where(photon, CONVERSION_LENGTH, np.inf))
    z = particles["z"] + path * random.standard_exponential(len(path))
    struck = (z < np.minimum(particles["z_end"], Z_END)) & (particles["pz"] > 0)
    particles = particles | {"z_end": np.where(struck, z, particles["z_end"])}
    hadrons, photons = (select(particles, struck & kind) for kind in (hadron, photon))
    charged = select(particles, ~photon)
    return concatenate([charged, _hadronic_products(hadrons, random), _pairs(photons, random)])


def _hadronic_products(parents: Columns, random: np.random.Generator) -> Columns:
    charged = 1 + random.poisson(MEAN_CHARGED, len(parents["z"]))
    neutral = random.poisson(MEAN_NEUTRAL, len(charged))
    # Exponential random numbers divided by their sum divide the momentum uniformly.
    parent = np.repeat(np.arange(len(charged)), charged)
    part = random.standard_exponential(len(parent))
    total = np.bincount(parent, weights=part, minlength=len(charged)) + random.standard_gamma(neutral)
    pdg_id = np.where(random.random(len(parent)) < PROTON_SHARE, PROTON, PION)
    charge = np.where(pdg_id == PROTON, 1, random.choice([-1, 1], len(parent)))
    pull = TRANSVERSE * random.standard_normal((2, len(parent)))
    return _products(select(parents, parent), part / total[parent], pull, pdg_id * charge, charge)


def _pairs(parents: Columns, random: np.random.Generator) -> Columns:
    part = random.random(len(parents["z"]))
    parent = np.repeat(np.arange(len(part)), 2)
    charge = np.tile([-1, 1], len(part))
    both = np.column_stack([part, 1 - part]).ravel()
    no_pull = np.zeros((2, len(parent)))
    return _products(select(parents, parent), both, no_pull, -ELECTRON * charge, charge)


def _products(
    parents: Columns, part: np.ndarray, pull: np.ndarray, pdg_id: np.ndarray, charge: np.ndarray
) -> Columns:
    """Particles with a part of their parent's momentum, and additional px and py, `pull` (2, n) in MeV."""
    return at_end(parents) | {
        "collision": parents["collision"],
        "pdg_id": pdg_id,
        "charge": charge,
        "mass": masses_of(pdg_id),
        "px": part * parents["px"] + pull[0],
        "py": part * parents["py"] + pull[1],
        "pz": part * parents["pz"],
    }


def at_end(parents: Columns) -> Columns:
    """Return the columns that products inherit. They begin where their parents, which fly straight, end."""
    flight = parents["z_end"] - parents["z"]
    return {
        "mother": parents["pdg_id"],
        "x": parents["x"] + flight * parents["px"] / parents["pz"],
        "y": parents["y"] + flight * parents["py"] / parents["pz"],
        "z": parents["z_end"],
        "z_end": np.full(len(flight), np.inf),
    }
