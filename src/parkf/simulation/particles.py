"""Kinds of particles, and momenta of particles in columns of `parkf.io.tables.PARTICLES`."""

import numpy as np
from numpy.typing import NDArray

from parkf.io.events import Columns

# PDG ids, and masses in MeV (PDG).
ELECTRON, MUON, PHOTON, PION, KAON, PROTON = 11, 13, 22, 211, 321, 2212
MASSES = {
    ELECTRON: 0.51099895,
    MUON: 105.6583755,
    PION: 139.57039,
    KAON: 493.677,
    PROTON: 938.27209,
}


def masses_of(pdg_id: NDArray[np.int64]) -> NDArray[np.float64]:
    """Masses (n,) in MeV of particles and antiparticles of `MASSES`."""
    return np.array([MASSES[kind] for kind in np.abs(pdg_id).tolist()])


def momentum(particles: Columns) -> NDArray[np.float64]:
    """Momenta (n,) in MeV."""
    p: NDArray[np.float64] = np.sqrt(particles["px"] ** 2 + particles["py"] ** 2 + particles["pz"] ** 2)
    return p


def in_acceptance(particles: Columns, eta: tuple[float, float], p_min: float) -> NDArray[np.bool_]:
    """Mask (n,) of particles in a range of pseudorapidity and above a momentum in MeV."""
    transverse = np.hypot(particles["px"], particles["py"])
    pz = particles["pz"]
    low, high = (np.sinh(each) for each in eta)
    return (pz > low * transverse) & (pz < high * transverse) & (np.hypot(transverse, pz) > p_min)
