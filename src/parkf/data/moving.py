"""Candidates with their hits elsewhere: shifted, or as another alignment shows them."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from parkf.data.elements import Elements
from parkf.data.equations import Floats
from parkf.detector.geometry import VELO_PLANES, Geometry
from parkf.fit.candidate_files import open_candidates
from parkf.fit.candidates import SCIFI, UT, VELO, Candidates
from parkf.fit.displaced import join_candidates
from parkf.fit.residuals import STRIPS
from parkf.io.arrow import table
from parkf.io.planes import UT_LAYERS

_AT_A_TIME = 1 << 14  # candidates whose matrices are in memory: 40 MB


def shifted(
    tracks: Candidates, *, x: Floats | float = 0.0, y: Floats | float = 0.0, strips: Floats | float = 0.0
) -> Candidates:
    """Return candidates with x, y of VELO hits (n, 26) and x of strips (n, 16) larger by so many mm."""
    x, y, strips = (np.asarray(one, tracks.qop.dtype) for one in (x, y, strips))
    ut, scifi = np.split(np.broadcast_to(strips, (tracks.count, STRIPS)), [UT_LAYERS], axis=1)
    return replace(
        tracks,
        velo=(tracks.velo[0] + x, tracks.velo[1] + y, tracks.velo[2]),
        ut=(tracks.ut[0] + ut, *tracks.ut[1:]),
        scifi=(tracks.scifi[0] + scifi, *tracks.scifi[1:]),
    )


class Moving:
    """Moves hits from where one geometry has their elements to where another one has them.

    Both are alignments of one description, so that an element differs by a rigid motion. `errors` (16,) are
    factors on the errors of UT and SciFi hits, by layer.
    """

    def __init__(self, before: Geometry, after: Geometry, errors: Floats | float = 1.0) -> None:
        self._before, there = Elements.of(before), Elements.of(after)
        self._rotation = there.axes @ np.linalg.inv(self._before.axes)  # (68, 3, 3)
        self._offset = there.centre - np.einsum("eij,ej->ei", self._rotation, self._before.centre)
        self._errors = errors

    def __call__(self, tracks: Candidates) -> Candidates:
        """Move the hits of candidates; what they lack stays NaN."""
        return join_candidates([self._moved(some) for some in tracks.pieces(_AT_A_TIME)])

    def _moved(self, tracks: Candidates) -> Candidates:
        velo = np.stack(tracks.velo, axis=-1).astype(np.float64)
        of = self._before.module(np.nan_to_num(velo[..., 2]))
        velo = np.einsum("nsij,nsj->nsi", self._rotation[of], velo) + self._offset[of]
        # A strip is a line in space. It is moved, and described by its point at y = 0 again.
        hits = (np.concatenate(pair, axis=1) for pair in zip(tracks.ut, tracks.scifi, strict=True))
        x, z, dxdy, sigma = (one.astype(np.float64) for one in hits)
        rotation, offset, lean = (
            one[len(VELO_PLANES) :] for one in (self._rotation, self._offset, self._before.lean)
        )
        point = np.stack([x, np.zeros_like(x), z], axis=-1)
        along = np.stack([dxdy, np.ones_like(x), lean[:, 1] + lean[:, 0] * dxdy], axis=-1)
        point = np.einsum("lij,nlj->nli", rotation, point) + offset
        along = np.einsum("lij,nlj->nli", rotation, along)
        along /= along[..., 1:2]
        point -= along * point[..., 1:2]
        strips = (point[..., 0], point[..., 2], along[..., 0], sigma * self._errors)
        ut, scifi = zip(*(np.split(one, [UT_LAYERS], axis=1) for one in strips), strict=True)
        moved = replace(tracks, velo=tuple(np.moveaxis(velo, -1, 0)), ut=ut, scifi=scifi)
        return moved.in_precision(tracks.qop.dtype)


def move_file(source: Path, path: Path, moving: Moving) -> None:
    """Write a file of candidates with its hits moved; the truth stays, if the file has it."""
    with open_candidates(source) as file:
        kind = file.table.with_events(file.event_kind())
        with kind.writer(path) as writer:
            for hits in file.batches(kind.rows_in_group, kind):
                moved = moving(hits.candidates("float32"))
                names, values = (*VELO, *UT, *SCIFI), (*moved.velo, *moved.ut, *moved.scifi)
                writer.write_table(
                    table({**hits.arrays, **dict(zip(names, values, strict=True))}, kind.schema)
                )
