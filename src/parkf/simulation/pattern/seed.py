"""The first q/p of a candidate, from its segments alone."""

import numpy as np

from parkf.io.events import Columns
from parkf.io.kinds import Kind
from parkf.simulation.pattern.curves import fit_curves, slope_at
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.velo import Z_REFERENCE, lines_of


def first_h(kind: Kind, hits: Columns, own: Columns, magnet: MagnetModel) -> np.ndarray:
    """Estimate h = polarity · q/p (n,) in 1/MeV of candidates of a kind.

    `own` has rows (n, slots) of `hits` by detector, -1 for an empty slot. Long and downstream tracks are
    bent between their first and their last segment, upstream tracks between VELO and UT. For a SciFi segment,
    its own curvature remains.
    """
    if not kind.scifi:
        return _bent_at_ut(hits, own, magnet)
    curves = fit_curves(hits, own["scifi"], magnet.z_scifi, magnet.cubic_ratio)
    if not (kind.velo or kind.ut):
        return curves[:, 2] / (magnet.curvature * magnet.chord_per_h)
    lines = lines_of(hits, own["velo"]) if kind.velo else line_in_ut(hits, own["ut"], curves, magnet)
    return magnet.h(lines, slope_at(curves, magnet.z_end - magnet.z_scifi, magnet.cubic_ratio))


def _bent_at_ut(hits: Columns, own: Columns, magnet: MagnetModel) -> np.ndarray:
    lines = lines_of(hits, own["velo"])
    used, at = _strips(hits, own["ut"])
    dz = at["z"] - Z_REFERENCE
    straight = lines[:, :1] + lines[:, 2:3] * dz - at["dxdy"] * (lines[:, 1:2] + lines[:, 3:4] * dz)
    per_h = magnet.x_shift_at_ut(lines, np.ones(len(lines)))
    away = np.where(used, at["x"] - straight, 0.0)
    return (away * per_h).sum(1) / np.where(used, per_h**2, 0.0).sum(1)


def line_in_ut(hits: Columns, rows: np.ndarray, curves: np.ndarray, magnet: MagnetModel) -> np.ndarray:
    """Fit lines x, y, tx, ty (n, 4) at `Z_REFERENCE` to UT hits (n, 4); y is straight back from the SciFi."""
    used, at = _strips(hits, rows)
    y = curves[:, 3:4] + curves[:, 4:] * (at["z"] - magnet.z_scifi)
    x = at["x"] + at["dxdy"] * y
    count = used.sum(1, keepdims=True)
    z_mean, x_mean = (np.where(used, v, 0.0).sum(1, keepdims=True) / count for v in (at["z"], x))
    dz = np.where(used, at["z"] - z_mean, 0.0)
    tx = (dz * (x - x_mean)).sum(1) / (dz**2).sum(1)
    start = x_mean[:, 0] + tx * (Z_REFERENCE - z_mean[:, 0])
    y_start = curves[:, 3] + curves[:, 4] * (Z_REFERENCE - magnet.z_scifi)
    return np.column_stack([start, y_start, tx, curves[:, 4]])


def _strips(hits: Columns, rows: np.ndarray) -> tuple[np.ndarray, Columns]:
    return rows >= 0, {name: hits[name][rows].astype(np.float64) for name in ("x", "z", "dxdy")}
