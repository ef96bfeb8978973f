"""Rows of tracks that are born in the magnet or before it, for the steps between SciFi layers.

The magnet turns tx of a long track by a number times h, so its x, tx and h are not independent. Rows of long
tracks therefore hardly tell terms in x and tx from terms in h. Tracks that are born in the magnet are turned
less, and tell them apart. They need no simulation: p is fitted to Runge-Kutta.
"""

from itertools import pairwise

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, Geometry
from parkf.detector.transport import propagate
from parkf.training.births import births
from parkf.training.rows import COMPONENTS, DISPLACED_SHARE, F64, GROUPS, Rows, StoredRows, select

TRACKS = 20_000
TOLERANCE = 1e-5  # mm, of a Runge-Kutta step


def displaced_rows(
    field: FieldMap, geometry: Geometry, *, seed: int, threads: int | None = None
) -> list[Rows]:
    """Carry tracks through the SciFi in MagUp; return rows for each of the 11 gaps between its layers.

    ``p_true`` of a row is the momentum in the gap, as there is no material; its ``qop`` is this momentum's,
    too. The result does not depend on `threads`, by default all cores.
    """
    states, z = births(TRACKS, seed=seed)
    layers = [layer for layer in geometry.strip_layers() if layer[0] in SCIFI_PLANES]
    crossed = np.full((len(layers), TRACKS, 6), np.nan)
    for reached, (plane, _, layer) in zip(crossed, layers, strict=True):
        track = np.flatnonzero(np.isfinite(z))
        surface = tuple(geometry.planes()[plane])
        there = propagate(field, +1, states[track], z[track], surface, tolerance=TOLERANCE, threads=threads)
        with np.errstate(invalid="ignore"):
            x, y = np.abs(there.states[:, :2]).T
            kept = there.ok & (x < layer.half_width) & (y < layer.half_height)
        # A track that misses a layer has no rows behind it.
        states[track], z[track] = there.states, np.where(kept, there.z, np.nan)
        reached[track[kept]] = np.column_stack([there.states, there.z])[kept]
    return [_between(*ends) for ends in pairwise(crossed)]


def _between(origin: F64, target: F64) -> Rows:
    """Return rows from states (n, 6) of x, y, tx, ty, q/p, z in two layers, NaN where a layer is missed."""
    track = np.flatnonzero(np.isfinite(target).all(axis=1))
    qop = origin[track, 4]
    rows = {"qop": qop, "p_true": 1 / np.abs(qop), "polarity": np.ones(len(track)), "group": track % GROUPS}
    for end, states in (("0", origin), ("1", target), ("e", target)):
        rows |= {f"{name}{end}": states[track, column] for column, name in enumerate(COMPONENTS)}
    return rows | {"z0": origin[track, 5], "z1": target[track, 5]}


def beside(rows: StoredRows, displaced: Rows, loss: float) -> StoredRows:
    """Return the rows of a gap together with displaced ones.

    `loss` is the momentum, MeV, that tracks lose before the gap: steps count q/p at production.
    """
    count = len(displaced["qop"])
    chosen = select(displaced, np.arange(max(1, round(DISPLACED_SHARE * len(rows)))) % count)
    at_production = np.sign(chosen["qop"]) / (chosen["p_true"] + loss)
    return rows.with_rows({**chosen, "qop": at_production})
