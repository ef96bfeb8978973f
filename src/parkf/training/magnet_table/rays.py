"""Rays through the magnet: the samples that the table is trained on and tested with, and their weights.

Slopes are smeared at z_in, as scattering would do. Without smearing, the table would be undetermined for
tracks that leave the straight line to the origin. Their predictions would be wrong by millimetres, while
unscattered tracks would look perfect.

With equal weights, a least-squares fit is best in the region where most rays are. One per cent of the tracks
would then have residuals several times larger than the others. These tracks lie at the end of the momentum
range or far from the line to their origin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from parkf.detector.description import Beam
from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.training.magnet_table.form import F64, bend_before, slopes_gained

# A fraction FLAT_SHARE of the rays is uniform in the slopes, up to a little beyond the grid's edge. The other
# rays are uniform in pseudorapidity, as tracks are.
LARGEST_SLOPES = (0.47, 0.36)
FLAT_SHARE = 0.8
MOMENTA = (1440.0, 120e3)  # MeV; beyond both edges of the fitted momenta
SOFTEST = 1475.0  # MeV; the softest fitted tracks have lost some 20 MeV of 1.5 GeV
MOMENTUM_POINTS = 4097  # between which the distribution of momenta is linear
# Largest slope to the beam of tracks in the acceptance, and the fraction of rays beyond it that is kept.
CORNER, CORNER_SHARE = 0.49, 0.5
TEST_MOMENTA = (1500.0, 100e3)
ETA, TEST_ETA = (1.8, 5.1), (2.0, 5.0)
# Width of the smearing of slopes at z_in, times momentum. Below 5 GeV slopes then deviate from the line to
# the vertex as much as scattering in the detector makes them.
KICK = 5.0  # MeV
VERTEX_SIGMA = 0.3  # mm across the beam; wider than the beam spot, because decays are included
# Decays also spread the vertices along the beam, by this factor beyond the beam spot.
STRETCH = 1.5
# Accuracy of a Runge–Kutta step, mm. Soft training rays end a micrometre off; stiff rays and test rays are
# much more accurate.
TOLERANCE, TEST_TOLERANCE = 1e-2, 1e-4
# Number of rays that are followed from their vertices to fit the slopes gained before z_in.
FOLLOWED = 1 << 14
# Rays that end beyond the SciFi's edge only serve to constrain the polynomials of border bins. At full weight
# they would make the tails inside several times wider.
EDGE = (3010.0, 2510.0)  # mm
EDGE_WEIGHT = 4e-4
# Weight of rays that begin outside the acceptance, or are softer than any fitted track.
OUTSIDE_WEIGHT = 0.03
# The polynomials are least accurate where their range ends, at f = 1. END_WEIGHT is the weight that is added
# there, END_ORDER the power of f with which it rises.
END_WEIGHT, END_ORDER = 1.0, 4
# Stiff rays bend least, and would be left to what soft ones need. STIFF_WEIGHT is added to the weight of rays
# whose f is below about STIFF. In production's table, y of tracks above 5 GeV is then a tenth more accurate,
# and their ty a third.
STIFF_WEIGHT, STIFF = 3.0, 0.3
# The parabolas of neighbouring bins do not join continuously. They are worst where the field map has kinks,
# above all at y = 0. Stiff tracks stay near such a kink. The weight of stiff rays rises by the share
# SEAM_WEIGHT where their offset from the bin's centre in y is above SEAM bins.
SEAM_WEIGHT, SEAM = 1.0, 0.4
# Quantile of the first fit's residuals, among rays of similar momentum, beyond which a ray is in the tail.
TAIL = 0.98
# Power with which the weight of a ray falls beyond this quantile. No table of this form describes such rays.
FALL = 3
# Number of momentum slices, with equal numbers of rays.
SLICES = 24

Purpose = Literal["training", "test"]


@dataclass(frozen=True)
class Rays:
    """Tracks at both ends of the magnet.

    `start` and `end` (n, 4) are x, y in mm, tx, ty at z_in and z_out; `qop` (n,) is h = pol·q/p in 1/MeV.
    """

    start: F64
    end: F64
    qop: F64

    def __len__(self) -> int:
        return len(self.qop)

    def __getitem__(self, mask: NDArray[Any]) -> "Rays":
        return Rays(self.start[mask], self.end[mask], self.qop[mask])


@dataclass(frozen=True)
class Magnet:
    """The magnet between two planes (mm), and the beam where tracks begin.

    The field is the one of MagUp; in MagDown a track bends as one of the opposite charge does in MagUp. The
    rays do not depend on the number of threads.
    """

    field: FieldMap
    z_in: float
    z_out: float
    beam: Beam
    threads: int

    def rays(self, starts: F64, tolerance: float) -> Rays:
        """Carry states (n, 5) at z_in through the magnet; drop those that leave the field map."""
        z, plane = np.full(len(starts), self.z_in), (self.z_out, 0.0, 0.0)
        end = propagate(self.field, +1, starts, z, plane, tolerance=tolerance, threads=self.threads)
        return Rays(starts[:, :4], end.states[:, :4], starts[:, 4])[end.ok]

    def starts(self, seed: int, count: int, purpose: Purpose) -> F64:
        """Return states (n, 5) of tracks that are followed from the beam spot to z_in and scattered there."""
        random = np.random.Generator(np.random.Philox(key=[seed, int(purpose == "test")]))
        place = random.uniform(size=(count, 9))
        slopes, qop = _slopes(place[:, :3], purpose), _qop(place[:, 3], purpose)
        normal = ndtri(place[:, 4:])
        vertex = normal[:, :3] * [VERTEX_SIGMA, VERTEX_SIGMA, STRETCH * self.beam.sigma_z]
        states = np.column_stack([self.beam.x + vertex[:, 0], self.beam.y + vertex[:, 1], slopes, qop])
        plane = (self.z_in, 0.0, 0.0)
        there = propagate(
            self.field, +1, states, vertex[:, 2], plane, tolerance=TEST_TOLERANCE, threads=self.threads
        )
        scattered = there.states.copy()
        scattered[:, 2:4] += KICK * np.abs(scattered[:, 4:]) * normal[:, 3:]
        return np.asarray(scattered[there.ok])

    def bends(self, seed: int) -> dict[str, float]:
        """Return the slopes gained before z_in, as numbers of the header."""
        starts = self.starts(seed, FOLLOWED, "training")
        return bend_before(starts[:, :4], starts[:, 4], self.z_in)


def independent_rays(magnet: Magnet, *, count: int, seed: int) -> Rays:
    """Return rays that are distributed as tracks are, and independent of the training rays of any seed.

    `count` is their number before losses.
    """
    return magnet.rays(magnet.starts(seed, count, "test"), TEST_TOLERANCE)


def training_rays(magnet: Magnet, bends: Mapping[str, float], *, count: int, seed: int) -> Rays:
    """Return rays that cover more than the acceptance, at both ends of the magnet.

    They begin at z_in, evenly distributed. Their slope is that of the line to the origin, and the bend in the
    field before z_in (`bends`), and a random change. The change stands for scattering, for a vertex beside
    the beam, and, towards the beam, for one before or behind the origin.
    """
    random = np.random.Generator(np.random.Philox(key=[seed, 0]))
    cube = _evenly(random, count, 6)
    across, qop = _slopes(cube[:, :3], "training"), _qop(cube[:, 3], "training")
    # The decimals of the number that chose the kind of slopes are random for each kind.
    kept = ~in_corner(across * magnet.z_in, magnet.z_in) | (10 * cube[:, 2] % 1 < CORNER_SHARE)
    cube, across, qop = cube[kept], across[kept], qop[kept]
    slopes = across + slopes_gained(bends, across) * qop[:, None]
    size = np.hypot(*across.T)
    kick = np.hypot(KICK * np.abs(qop), VERTEX_SIGMA / magnet.z_in)
    towards_beam = np.hypot(kick, STRETCH * magnet.beam.sigma_z / magnet.z_in * size)
    outwards = across / size[:, None]
    sideways = np.stack([-outwards[:, 1], outwards[:, 0]], axis=1)
    for direction, width, normal in ((outwards, towards_beam, cube[:, 4]), (sideways, kick, cube[:, 5])):
        slopes += (width * ndtri(normal))[:, None] * direction
    return magnet.rays(np.column_stack([across * magnet.z_in, slopes, qop]), TOLERANCE)


def _slopes(place: F64, purpose: Purpose) -> F64:
    """Turn points (n, 3) in the unit cube into slopes (n, 2) of lines from the origin."""
    training = purpose == "training"
    flat = (2 * place[:, :2] - 1) * LARGEST_SLOPES
    low, high = ETA if training else TEST_ETA
    polar = 1 / np.sinh(low + (high - low) * place[:, 0])
    azimuth = 2 * np.pi * place[:, 1]
    round_ = polar[:, None] * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
    return np.where(place[:, 2:] < FLAT_SHARE * training, flat, round_)


def in_corner(places: F64, z: float) -> NDArray[np.bool_]:
    """Whether positions (n, 2) at z, in mm, lie outside the acceptance, in the corners of the grid; (n,)."""
    return np.hypot(*places.T) > CORNER * z


def momentum_density(qop: F64) -> F64:
    """Return the density (n,) of training rays in q/p divided by the desired density, up to a factor.

    One third of the rays is uniform in log p, one third in 1/p and one third in 1/p². Polynomials in 1/p need
    most rays where their range ends; with few rays there, they follow single ones. Of the desired density,
    one half is uniform in log p and one half in 1/p.
    """
    low, high = MOMENTA
    fraction = low * np.abs(qop)
    flat, log = 1.0, 1 / (np.log(high / low) * fraction)
    return np.asarray((flat + log + 2 * fraction) / 3 / ((flat + log) / 2))


def _qop(place: F64, purpose: Purpose) -> F64:
    """Turn numbers (n,) between 0 and 1 into q/p (n,) in 1/MeV; both charges are equally frequent."""
    low, high = MOMENTA if purpose == "training" else TEST_MOMENTA
    charge, share = np.sign(2 * place - 1), np.abs(2 * place - 1)
    # The smallest momentum divided by the ray's, and the share of rays up to it.
    least = low / high
    fraction = np.geomspace(least, 1, MOMENTUM_POINTS)
    up_to = np.linspace(0, 1, MOMENTUM_POINTS)
    if purpose == "training":
        up_to = (up_to + (fraction - least) / (1 - least) + (fraction**2 - least**2) / (1 - least**2)) / 3
    return np.asarray(charge * np.interp(share, up_to, fraction) / low)


def _evenly(random: np.random.Generator, count: int, dimensions: int) -> F64:
    """Fill the unit cube without the clumps and gaps of random points, (count, dimensions).

    The points are Kronecker's sequence with the powers of a generalised golden ratio, moved by a random
    vector. The table's tails are as small as with nearly twice as many random rays.
    """
    ratio = 1.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    points = np.arange(count)[:, None] * steps + random.uniform(size=dimensions)
    return np.clip(points % 1, 1e-12, 1 - 1e-12)


def first_weights(rays: Rays, z_in: float, f: F64, offsets: F64) -> tuple[NDArray[np.bool_], F64]:
    """Return which rays the table has to describe (n,), and the weights (n,) of all rays.

    The table has to describe the rays inside the acceptance and the SciFi that are not too soft. A weight
    multiplies the square of residual/f. It depends on where a ray begins and ends, and on its momentum.
    `z_in` is in mm and `f` (n,) is h·p_min. `offsets` (n, 2) are distances from the centre of the nearest
    bin, in bins.
    """
    within = np.all(np.abs(rays.end[:, :2]) < EDGE, axis=1)
    wanted = (np.abs(rays.qop) < 1 / SOFTEST) & ~in_corner(rays.start[:, :2], z_in)
    values = 1 / momentum_density(rays.qop)
    stiff = 1 / (1 + (f / STIFF) ** 2)
    values *= (1 + STIFF_WEIGHT * stiff) * (1 + SEAM_WEIGHT * (offsets[:, 1] > SEAM) * stiff)
    values *= np.where(within, np.where(wanted, 1.0, OUTSIDE_WEIGHT), EDGE_WEIGHT)
    return within & wanted, values / values.mean()


def second_weights(inner: NDArray[np.bool_], first: F64, f: F64, residual: F64) -> F64:
    """Return weights (n,) that rise with the residual up to the beginning of the tail, and fall beyond it.

    `inner` and `first` (n,) are the results of :func:`first_weights`. `f` (n,) is h·p_min, and `residual`
    (n,) is the residual of the first fit.
    """
    values = first.copy()
    size, fraction = np.abs(residual[inner]), np.abs(f[inner])
    edges = np.quantile(fraction, np.linspace(0, 1, SLICES + 1))
    middles = 0.5 * (edges[1:] + edges[:-1])
    slice_ = np.clip(np.searchsorted(edges, fraction, "right") - 1, 0, SLICES - 1)
    tails = [np.quantile(size[slice_ == n] / fraction[slice_ == n], TAIL) for n in range(SLICES)]
    place = size / (fraction * np.interp(fraction, middles, tails))
    factor = (1 + np.minimum(place, 1) ** 2) / np.maximum(place, 1) ** FALL
    mean = np.bincount(slice_, factor) / np.bincount(slice_)
    values[inner] *= factor / mean[slice_]
    values *= 1 + END_WEIGHT * f**END_ORDER
    return values
