"""Rays through the magnet: what the table learns from, and what it is tested on.

Slopes are kicked at z_in as scattering does: without that, tracks that leave the straight line to the origin
would be undetermined, and come out millimetres wrong while unscattered ones look perfect.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Beam
from parkf.training.magnet_table.form import F64
from parkf.transport import propagate

# Flat in slopes to a little past the grid's edge, and flat in pseudorapidity as tracks are.
LARGEST_SLOPES = (0.31, 0.26)
FLAT_SHARE = 0.8
MOMENTA = (1440.0, 120e3)  # MeV; beyond both edges of what is fitted
TEST_MOMENTA = (1500.0, 100e3)
# Kicks at z_in that leave slopes as far from the line to the vertex as scattering in the detector does below
# 5 GeV, times momentum.
KICK = 5.0  # MeV
VERTEX_SIGMA = 0.3  # mm across the beam: decays included
# Vertices along the beam reach farther than the beam spot for the same reason.
STRETCH = 1.5
# Accuracy of the Runge–Kutta steps, mm: far below the table's.
TOLERANCE = 1e-4

Purpose = Literal["training", "test"]


@dataclass(frozen=True)
class Rays:
    """Tracks at both ends of the magnet.

    Attributes
    ----------
    start, end : (n, 4) float64
        x, y in mm, tx, ty at z_in and z_out.
    qop : (n,) float64
        h = pol·q/p in 1/MeV.
    """

    start: F64
    end: F64
    qop: F64

    def __len__(self) -> int:
        return len(self.qop)

    def __getitem__(self, mask: NDArray) -> "Rays":
        return Rays(self.start[mask], self.end[mask], self.qop[mask])


def draw_rays(
    field: FieldMap,
    *,
    z_in: float,
    z_out: float,
    beam: Beam,
    count: int,
    seed: int,
    threads: int,
    purpose: Purpose,
) -> Rays:
    """Carry random tracks from the beam spot to both planes; those that leave the map are dropped.

    Parameters
    ----------
    field : FieldMap
        Used as it is in MagUp; in MagDown the trajectories are those of the opposite charge.
    z_in, z_out : float
        Planes in mm.
    beam : Beam
        Where tracks begin.
    count : int
        Tracks to draw.
    seed : int
        Training and test rays of one seed are independent.
    threads : int
        Cores; the rays do not depend on it.
    purpose : {'training', 'test'}
        Training covers more than the acceptance, at both ends of it; a test has tracks as they are.
    """
    vertices, kicks = _draw(beam, count, seed, purpose)
    planes = [(z, 0.0, 0.0) for z in (z_in, z_out)]
    at_in = propagate(
        field, +1, vertices[:, :5], vertices[:, 5], planes[0], tolerance=TOLERANCE, threads=threads
    )
    scattered = at_in.states.copy()
    scattered[:, 2:4] += np.abs(scattered[:, 4:]) * kicks
    reached = np.flatnonzero(at_in.ok)
    scattered = scattered[reached]
    starts = np.full(len(reached), z_in)
    at_out = propagate(field, +1, scattered, starts, planes[1], tolerance=TOLERANCE, threads=threads)
    return Rays(scattered[:, :4], at_out.states[:, :4], scattered[:, 4])[at_out.ok]


def _draw(beam: Beam, count: int, seed: int, purpose: Purpose) -> tuple[F64, F64]:
    """Tracks at their vertices, (n, 6): x, y, tx, ty, q/p, z; and their kicks times momentum, (n, 2)."""
    random = np.random.Generator(np.random.Philox(key=[seed, int(purpose == "test")]))
    training = purpose == "training"
    place = _evenly(random, count, 10) if training else random.uniform(size=(count, 10))
    flat = (2 * place[:, :2] - 1) * LARGEST_SLOPES
    low_eta, high_eta = 2.0 - 0.2 * training, 5.0 + 0.1 * training
    polar = 1 / np.sinh(low_eta + (high_eta - low_eta) * place[:, 0])
    azimuth = 2 * np.pi * place[:, 1]
    round_ = polar[:, None] * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
    slopes = np.where(place[:, 2:3] < FLAT_SHARE * training, flat, round_)
    low, high = MOMENTA if training else TEST_MOMENTA
    charge, fall = np.sign(2 * place[:, 3] - 1), np.abs(2 * place[:, 3] - 1)
    # Half flat in log p, half in 1/p, where the table's polynomials want their rays.
    p = np.where(
        place[:, 4] < 0.5 * training,
        1 / (1 / low + fall * (1 / high - 1 / low)),
        low * (high / low) ** fall,
    )
    normal = ndtri(place[:, 5:])
    vertex = normal[:, :3] * [VERTEX_SIGMA, VERTEX_SIGMA, STRETCH * beam.sigma_z]
    columns = beam.x + vertex[:, 0], beam.y + vertex[:, 1], slopes, charge / p, vertex[:, 2]
    return np.column_stack(columns), KICK * normal[:, 3:]


def _evenly(random: np.random.Generator, count: int, dimensions: int) -> F64:
    """Fill the unit cube without the clumps and gaps of random points, (count, dimensions).

    Sobol's sequence, moved by a random vector: tails of the table as from nearly twice as many random rays.
    """
    points = qmc.Sobol(dimensions, scramble=False).random_base2(int(np.ceil(np.log2(count))))[:count]
    return np.clip((points + random.uniform(size=dimensions)) % 1, 1e-12, 1 - 1e-12)
