"""Hits of a detector that is not where the reconstruction expects it."""

from pathlib import Path

import numpy as np

from parkf.detector.geometry import PLANES, SCIFI_PLANES
from parkf.io.arrow import table
from parkf.io.events import Columns, read_by_event, select
from parkf.io.tables import HITS
from parkf.io.terminal import progress_bar
from parkf.simulation.random_numbers import Stream, keyed_generator

MAT_WIDTH = 132.3  # mm; a SciFi module is four mats wide
_EVENTS_PER_PIECE = 100


def scifi_shifts(*, module: float, mat: float, seed: int) -> np.ndarray:
    """Draw the displacement of every mat: the sum of its module's shift and of the shift of the mat itself.

    `module` and `mat` are widths of the normal distributions in mm. Return shifts in x (12, 2, 64) in mm,
    by layer, half (below, above the beam), and mat from −x on.
    """
    random = keyed_generator(seed, 0, Stream.MISALIGNMENT)
    # A layer has two halves. A half has at most 16 modules side by side, and a module has four mats.
    shape = (len(SCIFI_PLANES), 2, 16)
    modules = module * random.standard_normal(shape)
    mats = mat * random.standard_normal((*shape, 4))
    return (modules[..., None] + mats).reshape(*shape[:2], -1)


def misalign_scifi(hits: Path, path: Path, *, module: float, mat: float, seed: int) -> None:
    """Shift SciFi hits as if the mats were displaced and the reconstruction did not know it.

    Other hits stay. `module` and `mat` are the widths for :func:`scifi_shifts`. Both files are tables
    `parkf.io.tables.HITS`. A ParkfError reports hits that cannot be read.
    """
    shifts = scifi_shifts(module=module, mat=mat, seed=seed)
    with HITS.writer(path) as writer, progress_bar("misalign", "events") as bar:
        for columns in read_by_event(HITS, hits, events=_EVENTS_PER_PIECE):
            writer.write_table(table(shifted(columns, shifts), HITS.schema))
            bar.update(_EVENTS_PER_PIECE)


def shifted(columns: Columns, shifts: np.ndarray) -> Columns:
    """Return hits, columns of `parkf.io.tables.HITS`, moved by :func:`scifi_shifts`, and sorted again."""
    scifi = np.flatnonzero(columns["plane"] >= SCIFI_PLANES.start)
    x = columns["x"].copy()
    mat = np.floor(x[scifi] / MAT_WIDTH).astype(int) + shifts.shape[2] // 2
    half = (columns["y"][scifi] > 0).astype(int)
    # If a mat is displaced by +dx, a particle crosses it at an x that is smaller by dx in the mat's
    # coordinates.
    x[scifi] -= shifts[columns["plane"][scifi] - SCIFI_PLANES.start, half, mat]
    group = columns["event"].astype(np.int64) * PLANES + columns["plane"]
    group -= group.min(initial=0)
    # NumPy sorts small integers fastest.
    group = group.astype(np.min_scalar_type(group.max(initial=0)))
    order = np.argsort(x, kind="stable")
    order = order[np.argsort(group[order], kind="stable")]
    return select(columns | {"x": x}, order)
