"""Rays through the magnet: what the table learns from, and what it is tested on.

Slopes are kicked at z_in as scattering does: without that, tracks that leave the straight line to the origin
would be undetermined, and come out millimetres wrong while unscattered ones look perfect.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Beam
from parkf.training.magnet_table.form import F64
from parkf.transport import propagate

# Flat in slopes past the grid's edge, and flat in pseudorapidity as tracks are.
LARGEST_SLOPES = (0.33, 0.265)
FLAT_SHARE = 0.75
MOMENTA = (1440.0, 120e3)  # MeV; beyond both edges of what is fitted
TEST_MOMENTA = (1500.0, 100e3)
# Scattering between vertex and z_in, times momentum; a little more than the detector's.
KICK = 7.0  # MeV
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
    vertices = _draw(beam, count, seed, purpose)
    planes = [(z, 0.0, 0.0) for z in (z_in, z_out)]
    at_in = propagate(
        field, +1, vertices[:, :5], vertices[:, 5], planes[0], tolerance=TOLERANCE, threads=threads
    )
    scattered = at_in.states.copy()
    kicks = np.random.Generator(np.random.Philox(key=[seed, 2 + (purpose == "test")])).normal(size=(count, 2))
    scattered[:, 2:4] += KICK * np.abs(scattered[:, 4:]) * kicks
    reached = np.flatnonzero(at_in.ok)
    scattered = scattered[reached]
    starts = np.full(len(reached), z_in)
    at_out = propagate(field, +1, scattered, starts, planes[1], tolerance=TOLERANCE, threads=threads)
    return Rays(scattered[:, :4], at_out.states[:, :4], scattered[:, 4])[at_out.ok]


def _draw(beam: Beam, count: int, seed: int, purpose: Purpose) -> F64:
    """Tracks at their vertices, (n, 6): x, y, tx, ty, q/p, z."""
    random = np.random.Generator(np.random.Philox(key=[seed, int(purpose == "test")]))
    training = purpose == "training"
    flat = random.uniform(-1, 1, (count, 2)) * LARGEST_SLOPES
    polar = 1 / np.sinh(random.uniform(2.0 - 0.2 * training, 5.0 + 0.1 * training, count))
    azimuth = random.uniform(0, 2 * np.pi, count)
    round_ = polar[:, None] * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
    choose_flat = random.uniform(size=(count, 1)) < FLAT_SHARE * training
    slopes = np.where(choose_flat, flat, round_)
    low, high = MOMENTA if training else TEST_MOMENTA
    place = random.uniform(size=count)
    # Half flat in log p, half in 1/p, where the table's polynomials want their rays.
    p = np.where(
        random.uniform(size=count) < 0.5 * training,
        1 / (1 / low + place * (1 / high - 1 / low)),
        low * (high / low) ** place,
    )
    charge = np.where(random.uniform(size=count) < 0.5, -1.0, 1.0)
    vertex = random.normal(size=(count, 3)) * [VERTEX_SIGMA, VERTEX_SIGMA, STRETCH * beam.sigma_z]
    return np.column_stack([beam.x + vertex[:, 0], beam.y + vertex[:, 1], slopes, charge / p, vertex[:, 2]])
