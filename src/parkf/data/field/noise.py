"""Covariance of a track's hits about its path: errors of the hits, and scattering on the way."""

import numpy as np

from parkf.data.field.matter import scattering
from parkf.data.field.path import Path
from parkf.data.field.tracks import TrueTracks
from parkf.detector.frame import Floats
from parkf.detector.geometry import Geometry


def covariance(tracks: TrueTracks, path: Path, geometry: Geometry) -> Floats:
    """Covariance (n, 68, 68) in mm² of x of VELO hits, their y, and x - dx/dy y of UT and SciFi hits.

    The path begins at the last VELO hit. A scattering displaces hits by its angle times the distance along z:
    the magnet's focusing changes this by some per cent.
    """
    velo, strips = tracks.velo, np.nan_to_num(tracks.dxdy)
    zero, one = np.zeros(velo.shape[:2]), np.ones(velo.shape[:2])
    by_x = np.concatenate([one, zero, np.ones_like(strips)], axis=1)
    by_y = np.concatenate([zero, one, -strips], axis=1)
    z_velo = velo[..., 2]
    z = np.concatenate([z_velo, z_velo, path.z], axis=1)
    sigma = np.concatenate([np.full(z_velo.shape, geometry.velo.resolution)] * 2 + [tracks.sigma], axis=1)
    result = np.zeros((tracks.count, z.shape[1], z.shape[1]))
    diagonal = np.arange(z.shape[1])
    result[:, diagonal, diagonal] = np.where(np.isfinite(sigma), sigma, 1.0) ** 2

    def add(lever: Floats, width: Floats, slopes: Floats) -> None:
        lever, width, slopes = (np.nan_to_num(one) for one in (lever, width, slopes))
        square = width**2 * (1.0 + (slopes**2).sum(axis=1))
        for axis, part in enumerate((by_x, by_y)):
            moved = lever * part * np.sqrt(square * (1.0 + slopes[:, axis] ** 2))[:, None]
            np.add(result, moved[:, :, None] * moved[:, None, :], out=result)

    for at, width, slopes in path.kicks:
        add(np.maximum(z - at[:, None], 0.0), width, slopes)
    # Before the last VELO hit, the path is followed backwards through the modules.
    material = geometry.description.materials[geometry.velo.material]
    width = scattering(material, np.full(tracks.count, geometry.velo.thickness), tracks.p, tracks.mass)
    straight = np.zeros((tracks.count, 2))
    behind = np.zeros((tracks.count, strips.shape[1]))
    for at in z_velo.T[np.isfinite(z_velo).any(axis=0)]:
        lever = np.maximum(at[:, None] - z_velo, 0.0)
        add(np.concatenate([lever, lever, behind], axis=1), width, straight)
    return result
