"""Nuclear interactions and photon conversions before the magnet, in a simple model.

The transport scatters particles and slows them down, but it makes no new ones. A hadron that interacts leaves
a VELO segment without a SciFi segment, and its products leave SciFi segments without a VELO segment. The
pattern recognition combines such segments to false matches. In this model, hadrons interact equally likely at
every z up to the magnet, because VELO, RF foil, RICH 1 and UT fill this range. Photons convert with a rate
that depends on z. The rates lead to about as many products per event as in LHCb's full simulation.
"""

import numpy as np

from parkf.io.events import Columns, concatenate, select
from parkf.simulation.particles import ELECTRON, PHOTON, PION, PROTON, masses_of

Z_END = 2700.0  # mm; particles interact with material up to here
_BEGIN = -3000.0  # mm; particles are born behind it
INTERACTION_LENGTH = 15_000.0  # mm; mean free path of hadrons, 16% of which interact before Z_END
# Rates of conversions (1/mm) up to each z (mm). With them, as many electrons from each range of z reach the
# SciFi as in ten events of LHCb's full simulation: 14, 38, 97, 9 and 30. RICH 1 has next to no material.
CONVERSION_Z, CONVERSION_RATES = (100.0, 330.0, 1200.0, 2250.0, Z_END), (1.2e-4, 2.5e-4, 1.7e-4, 1.3e-5, 1e-4)
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
    depth = random.standard_exponential(len(hadron))
    z = np.where(
        hadron,
        particles["z"] + INTERACTION_LENGTH * depth,
        np.where(photon, conversion_z(particles["z"], depth), np.inf),
    )
    struck = (z < np.minimum(particles["z_end"], Z_END)) & (particles["pz"] > 0)
    particles = particles | {"z_end": np.where(struck, z, particles["z_end"])}
    hadrons, photons = (select(particles, struck & kind) for kind in (hadron, photon))
    charged = select(particles, ~photon)
    return concatenate([charged, _hadronic_products(hadrons, random), _pairs(photons, random)])


def conversion_z(begin: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Return where (n,), in mm, photons from z `begin` have crossed a `depth` in mean free paths.

    The depth before the last z is that of the first and of the last rate; further photons convert behind it.
    """
    z = np.array([_BEGIN, *CONVERSION_Z])
    depths = np.concatenate([[0.0], np.cumsum(np.diff(z) * CONVERSION_RATES)])
    whole = np.interp(begin, z, depths) + depth
    return np.where(whole < depths[-1], np.interp(whole, depths, z), np.inf)


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
