"""Covariance of a track's hits about its path: errors of the hits, and scattering on the way."""

import numpy as np

from parkf.detector.frame import Floats
from parkf.detector.geometry import Geometry
from parkf.imports.field_fit.matter import scattering
from parkf.imports.field_fit.path import Path
from parkf.imports.field_fit.tracks import TrueTracks


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

    def add(lever: Floats, variance: Floats, slopes: Floats) -> None:
        lever = np.nan_to_num(lever)
        square = variance * (1.0 + (slopes**2).sum(axis=1))
        for axis, part in enumerate((by_x, by_y)):
            moved = lever * part * np.sqrt(square * (1.0 + slopes[:, axis] ** 2))[:, None]
            np.add(result, moved[:, :, None] * moved[:, None, :], out=result)

    for kick in path.kicks:
        width = np.nan_to_num(kick.width)
        add(np.maximum(z - kick.z[:, None], 0.0), width**2, np.nan_to_num(kick.slopes))
    # Before the last VELO hit, the path is followed backwards through the modules.
    material = geometry.description.materials[geometry.velo.material]
    thickness = np.full(tracks.count, geometry.velo.thickness)
    variance = scattering(material, thickness, tracks.p, tracks.mass) ** 2
    for slot in range(z_velo.shape[1]):
        at = z_velo[:, slot : slot + 1]
        if not np.isfinite(at).any():
            continue
        lever = np.maximum(at - np.concatenate([z_velo, z_velo], axis=1), 0.0)
        behind = np.zeros((tracks.count, strips.shape[1]))
        add(np.concatenate([lever, behind], axis=1), variance, np.zeros((tracks.count, 2)))
    return result
