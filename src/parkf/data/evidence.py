"""What fitted tracks show of a detector: equations of displacements, holes, and quantities of errors."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from parkf.data.align import AT_A_TIME, Displacements
from parkf.data.elements import FREEDOMS, derivatives
from parkf.data.equations import Floats
from parkf.data.moving import shifted
from parkf.data.parts import Parts, shifts
from parkf.data.quantities import NAMES, quantities, usable
from parkf.data.tracks import Events
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.fit.residuals import Residuals, fit_residuals
from parkf.io.planes import UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet

_OTHERS_UT, _OTHERS_X, _OTHERS_STEREO = 3, 5, 4
"""Hits that a track needs without the layer in question: as many as a pattern recognition asks for."""


class Evidence:
    """Sums over the usable candidates of one polarity."""

    def __init__(self, parts: Parts) -> None:
        k, cells = len(NAMES), len(parts.names) - len(parts.stations.z)
        self.moved, self.parts = Displacements(parts, FREEDOMS), parts
        self.total, self.known, self.squares = np.zeros(k), np.zeros(k), np.zeros((k, k))
        # Over events, of n tracks with quantities that are q together: sums of n², n·q and q².
        self.by_event = np.zeros((3, k))
        # Tracks that cross each cell and could do without its hit; of these, products of tracks and hits.
        self.products = np.zeros((2 * cells, 2 * cells))

    @property
    def count(self) -> int:
        """Number of usable candidates."""
        return self.moved.tracks

    @property
    def crossed(self) -> Floats:
        """Tracks that cross each cell, (c,)."""
        return np.diag(self.products)[: len(self.products) // 2]

    @property
    def hits(self) -> Floats:
        """Their hits, (c,)."""
        return np.diag(self.products)[len(self.products) // 2 :]

    def add(self, tracks: Candidates, fitted: Fitted, residuals: Residuals, use: NDArray[np.bool_]) -> None:
        """Add candidates of `use` (n,), whose residuals have covariances."""
        self.moved.add_tracks(tracks, fitted, residuals, use)
        cells = len(self.products) // 2
        cell = self.parts.of_hits(tracks, residuals)[2 * VELO_SLOTS :] - len(self.parts.stations.z)
        has = np.isfinite(np.concatenate([tracks.ut[0], tracks.scifi[0]], axis=1)).T
        asked = _probes(has, tracks) & use
        crossing = np.zeros((2 * cells, tracks.count), np.float32)
        layer, of = np.nonzero(asked)
        crossing[cell[layer, of], of] = 1.0
        crossing[cells + cell[layer, of], of] = has[layer, of]
        self.products += crossing @ crossing.T

    def add_quantities(self, values: Floats, known: Floats, event: Events) -> None:
        """Add quantities and their information, (m, k) each, of candidates of these events (m,)."""
        self.total += values.sum(axis=0)
        self.known += known.sum(axis=0)
        self.squares += values.T @ values
        _, of, sizes = np.unique(event, return_inverse=True, return_counts=True)
        together = np.zeros((len(sizes), len(self.total)))
        np.add.at(together, of, values)
        sizes = np.broadcast_to(sizes[:, None], together.shape)
        self.by_event += [(sizes**2).sum(0), (sizes * together).sum(0), (together**2).sum(0)]


def _probes(has: NDArray[np.bool_], tracks: Candidates) -> NDArray[np.bool_]:
    """Whether a track would have been found without its hit in a layer, (16, n)."""
    ut, scifi = has[:UT_LAYERS], has[UT_LAYERS:]
    stereo = (np.nan_to_num(tracks.scifi[2]) != 0).any(axis=0)[:, None]
    fits = np.ones(scifi.shape, bool)
    for own, needed in ((scifi & stereo, _OTHERS_STEREO), (scifi & ~stereo, _OTHERS_X)):
        fits &= own.sum(axis=0) - own >= needed
    return np.concatenate([ut.sum(axis=0) - ut >= _OTHERS_UT, fits])


def gather(
    parameters: ParameterSet,
    tracks: Candidates,
    parts: Parts,
    *,
    event: Events | None = None,
    placed: Mapping[int, Floats] | None = None,
) -> dict[int, Evidence]:
    """Return the evidence of candidates by polarity, by the fits of a set.

    Without `event` (n,), each candidate is from an event of its own. `placed` are numbers of each polarity,
    the first of which are displacements (parts·6,), mm and rad, that are put right before.
    """
    found: dict[int, Evidence] = {}
    event = np.arange(tracks.count) if event is None else event
    for begin, piece in zip(range(0, len(event), AT_A_TIME), tracks.pieces(AT_A_TIME), strict=True):
        some = piece.in_precision("float64")
        if placed:
            some = _put_right(parameters, some, parts, placed)
        fitted, residuals = fit_residuals(parameters, some, covariances=True)
        use = usable(fitted)
        values, known = quantities(fitted, residuals)
        for side in (1, -1):
            own = use & (np.sign(some.polarity) == side)
            if own.any():
                of = found.setdefault(side, Evidence(parts))
                of.add(some, fitted, residuals, own)
                its = event[begin : begin + AT_A_TIME][own]
                of.add_quantities(values[own[use]], known[own[use]], its)
    return found


def _put_right(
    parameters: ParameterSet, some: Candidates, parts: Parts, placed: Mapping[int, Floats]
) -> Candidates:
    fitted, residuals = fit_residuals(parameters, some)
    element, slopes = derivatives(some, fitted, residuals, parts)
    change = {name: np.zeros(1) for name in ("x", "y", "strips")}
    for side, alpha in placed.items():
        own = (np.sign(some.polarity) == side)[:, None]
        by = shifts(alpha[: 6 * len(parts.names)].reshape(-1, 6), element, slopes, residuals)
        change = {name: change[name] - np.where(own, by[name], 0.0) for name in change}
    return shifted(some, **change)
