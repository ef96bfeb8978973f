"""Candidates as another alignment shows them: every hit moves with the module or layer that measured it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.fit.alignment.derivatives import Elements
from parkf.fit.candidates import SCIFI, UT, VELO, Candidates, check_rows, from_arrow
from parkf.io.arrow import numbers, table
from parkf.io.tables import CANDIDATES, MEASURED

Floats = NDArray[np.float64]

_AT_A_TIME = 1 << 14  # candidates whose matrices are in memory: 40 MB


class Moving:
    """Moves hits from where one geometry has their elements to where another one has them.

    Both are alignments of one description, so that an element differs by a rigid motion. `errors` (16,) are
    factors on the errors of UT and SciFi hits, by layer.
    """

    def __init__(self, before: Geometry, after: Geometry, errors: Floats | None = None) -> None:
        self._elements = Elements.of(before)
        planes = [*VELO_PLANES, *UT_PLANES, *SCIFI_PLANES]
        axes = [np.array([_axes(geometry, plane) for plane in planes]) for geometry in (before, after)]
        origins = [
            np.array([geometry.frames[plane].origin for plane in planes]) for geometry in (before, after)
        ]
        self._rotation = axes[1] @ np.linalg.inv(axes[0])  # (68, 3, 3)
        self._offset = origins[1] - np.einsum("eij,ej->ei", self._rotation, origins[0])  # (68, 3)
        lean = np.array([before.frames[plane].plane[1:] for plane in planes])
        self._lean = lean[len(VELO_PLANES) :]
        self._errors = np.ones(len(self._lean)) if errors is None else errors

    def __call__(self, tracks: Candidates) -> Candidates:
        """Move the hits of candidates, some thousand at a time; what they lack stays NaN."""
        kind = tracks.qop.dtype
        moved = replace(
            tracks,
            velo=tuple(np.empty(one.shape, kind) for one in tracks.velo),
            ut=tuple(np.empty(one.shape, kind) for one in tracks.ut),
            scifi=tuple(np.empty(one.shape, kind) for one in tracks.scifi),
        )
        for begin in range(0, tracks.count, _AT_A_TIME):
            rows = slice(begin, begin + _AT_A_TIME)
            some = tracks.rows(rows)
            ut = len(some.ut[0].T)
            for into, of in (
                (moved.velo, self._pixels(some.velo)),
                (moved.ut, self._strips(some.ut, slice(0, ut))),
                (moved.scifi, self._strips(some.scifi, slice(ut, ut + len(some.scifi[0].T)))),
            ):
                for all_rows, own in zip(into, of, strict=True):
                    all_rows[rows] = own
        return moved

    def _pixels(self, hits: tuple[NDArray[np.floating], ...]) -> tuple[Floats, ...]:
        velo = np.stack(hits, axis=-1).astype(np.float64)
        of = self._elements.module(np.nan_to_num(velo[..., 2]))
        velo = np.einsum("nsij,nsj->nsi", self._rotation[of], velo) + self._offset[of]
        return velo[..., 0], velo[..., 1], velo[..., 2]

    def _strips(self, hits: tuple[NDArray[np.floating], ...], layers: slice) -> tuple[Floats, ...]:
        x, z, dxdy, sigma = (one.astype(np.float64) for one in hits)
        rotation, offset = (a[len(VELO_PLANES) :][layers] for a in (self._rotation, self._offset))
        by_x, by_y = self._lean[layers].T
        point = np.stack([x, np.zeros_like(x), z], axis=-1)
        along = np.stack([dxdy, np.ones_like(x), by_y + by_x * dxdy], axis=-1)
        point = np.einsum("lij,nlj->nli", rotation, point) + offset
        along = np.einsum("lij,nlj->nli", rotation, along)
        along /= along[..., 1:2]
        point -= along * point[..., 1:2]
        return point[..., 0], point[..., 2], along[..., 0], sigma * self._errors[layers]


def _axes(geometry: Geometry, plane: int) -> Floats:
    u, v = geometry.frames[plane].axis_u, geometry.frames[plane].axis_v
    return np.column_stack([u, v, np.cross(u, v)])


def move_file(source: Path, path: Path, moving: Moving) -> None:
    """Write a file of candidates with its hits moved; the truth stays, if the file has it."""
    with MEASURED.open(source) as file:
        kind = CANDIDATES if "particle" in file.schema_arrow.names else MEASURED
        with kind.writer(path) as writer:
            count = 0
            for rows in file.iter_batches(batch_size=kind.rows_in_group):
                check_rows(rows, source, count)
                count += rows.num_rows
                moved = moving(from_arrow(rows, "float32"))
                columns = {name: numbers(rows.column(name)) for name in kind.schema.names}
                columns |= zip((*VELO, *UT, *SCIFI), (*moved.velo, *moved.ut, *moved.scifi), strict=True)
                writer.write_table(table(columns, kind.schema))
