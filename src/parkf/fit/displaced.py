"""How far hits lie beside the tracks through all other hits, by fits with hits moved to both sides.

χ² is a parabola in the distance by which some of a track's hits are moved. Three fits determine it: with the
hits as they are, and with the hits moved by the same distance to both sides. The minimum is where the other
hits expect these hits, and the curvature is the error of that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from parkf.fit import cpu
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import INTEGERS, NUMBERS, Fitted, is_good
from parkf.params.parameter_set import ParameterSet

Floats = NDArray[np.float64]
Detector = Literal["velo", "ut", "scifi"]
FEWEST = 5
"""Fewer tracks with a good fit measure nothing."""
_MEDIAN = 1.2533  # error of a median over that of a mean, for a Gaussian
_MAD = 0.6745  # median of |u| for a Gaussian of width 1


@dataclass(frozen=True)
class Motion:
    """Hits of one detector moved along one axis, by `step` (mm) to both sides."""

    detector: Detector
    axis: Literal["x", "y", "z"]
    step: float  # mm; about the error of one track
    tolerance: float  # mm; smaller distances need no other parameter set

    def of(self, tracks: Candidates) -> NDArray[Any]:
        """Return the coordinate (n, slots) of the hits that are moved."""
        hits: tuple[NDArray[Any], ...] = getattr(tracks, self.detector)
        return hits[{"velo": "xyz", "ut": "xz", "scifi": "xz"}[self.detector].index(self.axis)]


MOTIONS = (
    Motion("velo", "x", 0.5, 0.25),
    Motion("velo", "y", 0.5, 0.5),
    Motion("velo", "z", 5.0, 4.0),
    Motion("ut", "x", 0.2, 0.15),
    Motion("scifi", "x", 0.5, 0.4),
    Motion("scifi", "z", 5.0, 3.0),
)


@dataclass(frozen=True)
class Distance:
    """Median distance of hits from where the other hits expect them, and its error, in mm."""

    motion: Motion
    value: float
    error: float
    where: str = ""

    @property
    def significance(self) -> float:
        """Distance over its error."""
        return abs(self.value) / self.error


def fit_moved(
    parameters: ParameterSet, tracks: Candidates, motions: Sequence[Motion] = MOTIONS
) -> tuple[Fitted, list[Distance]]:
    """Fit candidates by the smoother as they are and with moved hits, in one call.

    Return the fits of the candidates as they are, and the distances of all `motions` for which at least
    :data:`FEWEST` tracks have a good fit. For x of the VELO, a second distance is half of that between its
    halves, x > 0 and x < 0.
    """
    shape = (1 + 2 * len(motions), tracks.count)
    copies = join_candidates([tracks] * shape[0])
    for number, motion in enumerate(motions):
        ways = motion.of(copies).reshape(*shape, -1)[1 + 2 * number : 3 + 2 * number]
        ways[0] += motion.step
        ways[1] -= motion.step
    together = cpu.fit(parameters, copies, smoother=True, threads=1)
    chi2 = together.chi2_velo.astype(np.float64) + together.chi2_ut + together.chi2_scifi
    plain = Fitted(**{name: getattr(together, name)[: tracks.count] for name in (*NUMBERS, *INTEGERS)})
    with np.errstate(all="ignore"):  # fits that failed have no distance
        measured = _distances(motions, tracks, chi2.reshape(shape), is_good(together.status).reshape(shape))
        return plain, list(measured)


def _distances(
    motions: Sequence[Motion], tracks: Candidates, chi2: Floats, good: NDArray[np.bool_]
) -> Iterator[Distance]:
    if not motions:
        return
    step = np.array([[one.step] for one in motions])
    up, down = chi2[1::2], chi2[2::2]
    slope, curvature = (up - down) / (2 * step), (up + down - 2 * chi2[0]) / (2 * step**2)
    known = good[0] & good[1::2] & good[2::2] & (curvature > 0) & np.isfinite(slope)
    halves = [one.detector == "velo" and one.axis == "x" for one in motions]
    # Further rows for each half of the VELO.
    of = np.concatenate([np.arange(len(motions)), np.repeat(np.flatnonzero(halves), 2)])
    sides = np.tile([[1], [-1]], (sum(halves), 1)) == np.sign(tracks.velo[0][:, 0])
    known = np.concatenate([known, known[halves].repeat(2, axis=0) & sides])
    # Hits at a positive distance are where χ² grows if they are moved further.
    offset = np.where(known, slope[of] / (2 * curvature[of]), 0.0)
    weight = np.where(known, np.sqrt(curvature[of]), 0.0)
    count, middle = known.sum(axis=1), weighted_medians(offset, weight)
    spread = np.where(known, np.abs(offset - middle[:, None]) * weight, np.nan)
    # Wide distributions enlarge the error.
    width = np.maximum(1.0, medians(spread.T) / _MAD)
    error = _MEDIAN * width * np.sqrt(count) / weight.sum(axis=1)
    half = len(motions)
    for number, motion in enumerate(motions):
        if count[number] >= FEWEST:
            yield Distance(motion, float(middle[number]), float(error[number]))
        if halves[number]:
            two = slice(half, half + 2)
            if count[two].min() >= FEWEST:
                between = middle[half] - middle[half + 1]
                yield Distance(motion, 0.5 * float(between), 0.5 * float(np.hypot(*error[two])), "half of")
            half += 2


def medians(columns: NDArray[Any]) -> NDArray[Any]:
    """Return the medians of columns (n, k) without NaN, and NaN where there is nothing else, (k,).

    For small samples, it takes a tenth of NumPy's time.
    """
    ordered, count = np.sort(columns, axis=0), (~np.isnan(columns)).sum(axis=0)
    each = np.arange(len(count))
    found: NDArray[Any] = 0.5 * (
        ordered[np.maximum(count - 1, 0) // 2, each] + ordered[count // 2 * (count > 0), each]
    )
    found[count == 0] = np.nan
    return found


def weighted_medians(rows: Floats, weights: Floats) -> Floats:
    """Return the values (k, n) at which half of the weights (k, n) of each row is reached, (k,)."""
    order = np.argsort(rows, axis=1)
    each = np.arange(len(rows))[:, None]
    below = np.cumsum(weights[each, order], axis=1)
    first = (below < 0.5 * below[:, -1:]).sum(axis=1)
    found: Floats = rows[each[:, 0], order[each[:, 0], first]]
    return found


def join_candidates(batches: list[Candidates]) -> Candidates:
    """Join batches of candidates."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(one, name) for one in batches])

    def hits(name: str) -> tuple[NDArray[Any], ...]:
        return tuple(map(np.concatenate, zip(*(getattr(one, name) for one in batches), strict=True)))

    return Candidates(
        polarity=column("polarity"),
        qop=column("qop"),
        velo_n=column("velo_n"),
        velo=hits("velo"),
        ut=hits("ut"),
        scifi=hits("scifi"),
    )
