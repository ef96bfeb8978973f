"""Charges and masses of particles by their PDG numbers, from Pythia's data."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pythia8mc

_NUCLEI = 1_000_000_000


def charges(pdg_id: np.ndarray) -> np.ndarray:
    """Charges (n,) in elementary charges: Pythia's, and those of nuclei from their number of protons."""

    def charge(kind: int, data: Any) -> float:
        # PDG ids of nuclei are 10LZZZAAAI, with Z protons and A nucleons.
        return np.sign(kind) * (abs(kind) // 10_000 % 1000) if abs(kind) > _NUCLEI else data.charge(kind)

    return _of_kinds(pdg_id, charge)


def masses(pdg_id: np.ndarray) -> np.ndarray:
    """Masses (n,) in MeV from Pythia; masses of nuclei from their number of nucleons."""

    def mass(kind: int, data: Any) -> float:
        # Pythia's masses are in GeV.
        return abs(kind) // 10 % 1000 * 931.494 if abs(kind) > _NUCLEI else 1000.0 * data.m0(kind)

    return _of_kinds(pdg_id, mass)


@cache
def _pythia() -> Any:
    """Read Pythia's data once: it takes 0.2 s."""
    return pythia8mc.Pythia("", False)


def _of_kinds(pdg_id: np.ndarray, property_of: Callable[[int, Any], float]) -> np.ndarray:
    """Property (n,) of particles, looked up in Pythia's data once for each kind."""
    data = _pythia().particleData
    kinds, kind = np.unique(pdg_id, return_inverse=True)
    return np.array([property_of(number, data) for number in kinds.astype(int).tolist()])[kind]
