"""The fit of nuisances to a sample beside its reference, and the verdict: the smallest explanation.

All nuisances are linear in sums over tracks. What the reference shows, too, is taken off, per information
on each nuisance. The one that improves the fit most is accepted if chance would not do so for any that is
tried; then the others are tried beside it. Displacements come first, since they widen all residuals: hits
are put right by what was found, and measured again, until nothing is added. The rate of false alarms is
`ALPHA` for a sample that the reference describes. Errors follow from the scatter of the tracks' own scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import norm

from parkf.data.changes import Nuisance
from parkf.data.elements import FREEDOMS
from parkf.data.equations import Floats, Solution, whitener
from parkf.data.evidence import Evidence, Sample
from parkf.data.hypotheses import NOT_LOOKED_AT, Found, motions
from parkf.data.reference import Reference
from parkf.data.weak import name_unseen

ALPHA = 0.01
"""Rate of false alarms of a verdict, all nuisances together."""
_MOST = 6  # nuisances at once; more are another geometry
_PASSES = 6
_SETTLED = 0.2  # errors: a pass that changes sizes by less is the last one
_AS_GOOD = 6.0  # of χ²: nuisances that explain nearly as much as the best are named beside it
_NAMED = 2  # of them
_ARM = 1000.0  # mm, by which a turn is compared with a shift
_FAR = {"x": 1.0, "y": 1.0, "z": 3.0}  # mm: larger than any misalignment


@dataclass(frozen=True)
class Verdict:
    """What a sample shows."""

    fits: bool
    found: list[Found]
    chi2: float  # of errors, noise and χ² against the reference's, when hits are put right
    ndof: int
    left: float  # χ² that the factors found leave
    probability: float  # of a larger one by chance
    known: bool = True  # whether what was found explains what is seen
    unseen: Sequence[str] = ()  # modes that the sample cannot show, and which one could

    def sentences(self) -> list[str]:
        """Say the verdict in words."""
        said = [f"{one}." for one in self.found]
        if self.far:
            said[0] = f"Not this geometry: {said[0]}"
        if self.fits:
            said = ["The set fits: no change of the detector is seen."]
        elif not self.known:
            said.append(
                f"The candidates differ from the reference by more (χ² {self.left:.0f} for {self.ndof}"
                " degrees of freedom), and no change that is looked for explains it."
            )
        said += [f"These tracks do not show: {'; '.join(self.unseen)}."] if self.unseen else []
        return [*said, f"Not looked at: {NOT_LOOKED_AT}."]

    @property
    def far(self) -> bool:
        """Whether something is surely further away than a misalignment is."""
        return any(
            abs(one.size) - _FAR[one.change.kind] > 3 * one.error
            for one in self.found
            if one.change.kind in _FAR
        )

    @property
    def _kind(self) -> str:
        return "not this geometry" if self.far else "changed" if self.known else "not explained"

    def as_json(self) -> dict[str, Any]:
        """Numbers and words."""
        return {
            "verdict": "fits" if self.fits else self._kind,
            "sentences": self.sentences(),
            "found": [one.as_json() for one in self.found],
            **{"chi2": self.chi2, "ndof": self.ndof, "chi2_left": self.left},
            **{"probability": self.probability, "false_alarm_rate": ALPHA},
        }


class Table:
    """Scores, information and noise of all nuisances of motion by polarity, (p, j), (p, j, j) twice."""

    def __init__(
        self, reference: Reference, evidence: Mapping[int, Evidence], nuisances: list[Nuisance], rows: Floats
    ):
        self.sides = list(evidence)
        parts = [_projected(reference, one, rows) for one in evidence.values()]
        self.score, self.info, self.noise = (np.array(of) for of in zip(*parts, strict=True))
        masks = [np.ones(len(self.sides))]
        if len(self.sides) > 1:
            masks += list(np.eye(len(self.sides)))
        self.masks = np.array(masks)
        self.nuisances = [
            replace(one, sides=() if number == 0 else (self.sides[number - 1],))
            for number in range(len(masks))
            for one in nuisances
        ]

    def _of(self, chosen: Sequence[int]) -> tuple[NDArray[np.int64], Floats]:
        """Numbers of motions and masks of polarities (s, p) of chosen nuisances."""
        mask, number = np.divmod(np.array(chosen, np.int64), self.score.shape[1])
        return number, self.masks[mask]

    def _together(self, own: NDArray[np.int64], masks: Floats) -> list[Floats]:
        """Information and noise (s, s) of chosen nuisances."""
        return [
            np.einsum("sp,tp,pst->st", masks, masks, of[:, own][:, :, own]) for of in (self.info, self.noise)
        ]

    def fitted(self, chosen: Sequence[int]) -> Solution:
        """Fit some nuisances together."""
        own, masks = self._of(chosen)
        score = np.einsum("sp,ps->s", masks, self.score[:, own])
        info, noise = self._together(own, masks)
        inverse = np.linalg.pinv(info, hermitian=True)
        return Solution([self.nuisances[n].what for n in chosen], inverse @ score, inverse @ noise @ inverse)

    def gains(
        self, chosen: Sequence[int], moved: tuple[int, float] | None = None
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return score over error of each nuisance beside the chosen ones, (masks·j,), and the best ones.

        Of those that explain nearly as much as the best, the smallest displacement is the first. `moved` is a
        displacement, by its number and size, that was put right and shall not be.
        """
        scores = self.score
        if moved is not None:
            (number,), (sides,) = self._of([moved[0]])
            scores = scores + moved[1] * sides[:, None] * self.info[:, :, number]
        sizes = [self._sizes(mask, scores, chosen) for mask in self.masks]
        size, error = (np.concatenate(of) for of in zip(*sizes, strict=True))
        size[list(chosen)] = 0.0
        gains = np.abs(size / error)
        near = np.flatnonzero(gains**2 >= gains.max() ** 2 - _AS_GOOD)
        if not self.nuisances[int(np.argmax(gains))].unit:
            return gains, near[np.argsort(-gains[near])]
        arms = {"mm": 1.0, "rad": _ARM, "": 0.0}
        return gains, near[np.argsort([arms[self.nuisances[n].unit] * abs(size[n]) for n in near])]

    def _sizes(self, mask: Floats, scores: Floats, chosen: Sequence[int]) -> tuple[Floats, Floats]:
        """Return sizes and errors (j,) of the nuisances of these polarities, each beside the chosen ones."""
        own, masks = self._of(chosen)
        shared, mixed = (
            np.einsum("p,sp,pjs->js", mask, masks, of[:, :, own]) for of in (self.info, self.noise)
        )
        info, noise = self._together(own, masks)
        by = shared @ np.linalg.pinv(info, hermitian=True)
        score = mask @ scores - by @ np.einsum("sp,ps->s", masks, scores[:, own])
        alone, variance = (np.einsum("p,pjj->j", mask, of) for of in (self.info, self.noise))
        left = alone - (by * shared).sum(1)
        variance = variance - 2 * (by * mixed).sum(1) + np.einsum("js,st,jt->j", by, noise, by)
        free = left > 1e-3 * alone
        weight = np.where(free, left, 1.0)
        error = np.sqrt(np.where(free, np.maximum(variance, 1e-12 * alone), 1.0)) / weight
        return np.where(free, score / weight, 0.0), error


def _projected(reference: Reference, one: Evidence, rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Score (j,), information and noise (j, j) of motions, beside the reference's."""
    moved, both = one.moved, 1 + one.count / reference.count
    weight = np.diag(moved.matrix)
    ratio = np.divide(weight, reference.weight, out=np.zeros_like(weight), where=reference.weight > 0)
    score = moved.vector - moved.matrix @ reference.place - ratio * reference.rest
    scatter = np.sqrt(both * np.divide(moved.square, weight, out=np.ones_like(weight), where=weight > 0))
    motion, cells = np.split(rows, [len(score)], axis=1)
    info = motion @ moved.matrix @ motion.T
    noise = (motion * scatter) @ moved.matrix @ (motion * scatter).T
    lost, weights, errors = _holes(reference, one)
    of = cells * weights
    return (
        motion @ score + of @ lost,
        info + of @ np.diag(one.crossed * _usual(reference)) @ cells.T,
        noise + of @ errors @ of.T,
    )


def _usual(reference: Reference) -> Floats:
    """Efficiency of each cell in the reference, (c,)."""
    return np.asarray((reference.hits + 0.5) / (reference.crossed + 0.5).clip(1.0))


def _holes(reference: Reference, one: Evidence) -> tuple[Floats, Floats, Floats]:
    """Hits beyond the reference's (c,), weights that make them scores (c,), and their covariance (c, c)."""
    cells, usual = len(one.crossed), np.minimum(_usual(reference), 1.0)
    lost = one.hits - usual * one.crossed
    tracks, mixed, hits = (
        one.products[:cells, :cells],
        one.products[:cells, cells:],
        one.products[cells:, cells:],
    )
    scaled = usual[:, None]
    errors = hits - scaled * mixed - (scaled * mixed).T + scaled * tracks * scaled.T
    seen = (one.hits + 0.5) / (one.crossed + 1.0)
    of_reference = one.crossed**2 * usual * (1 - usual).clip(1e-4) / reference.crossed.clip(1.0)
    errors = errors + np.diag(of_reference + 0.25)
    weights = 1 / (seen * (1 - seen)).clip(1e-3)
    return lost, weights, errors


def judge(reference: Reference, sample: Sample) -> Verdict:
    """Compare a sample with a reference."""
    parts = reference.parts(sample.parameters)
    nuisances, rows = motions(parts)
    evidence = sample.gather(parts)
    chosen: list[int] = []
    sizes = np.zeros(0)
    for _ in range(_PASSES):
        table = Table(reference, evidence, nuisances, rows)
        limit = float(norm.isf(0.25 * ALPHA / len(table.nuisances)))
        before = len(chosen)
        chosen, sizes, fitted = _added(table, chosen, sizes, limit)
        if not chosen:
            break
        own = [number for number, n in enumerate(chosen) if table.nuisances[n].unit]
        change = np.abs(fitted.value[own] / np.maximum(fitted.error[own], 1e-15))
        if not own or (len(chosen) == before and change.max() < _SETTLED):
            break
        evidence = sample.gather(parts, _placed(table, chosen, sizes, rows, len(parts.names)))
    found = _named(table, chosen, sizes, fitted.error, limit)
    factors, chi2, ndof, left = judge_factors(reference, evidence, limit)
    notable = [one for one in (*found, *factors) if abs(one.size) > one.change.tolerance]
    probability = float(chi2_distribution.sf(left, ndof))
    known = len(chosen) < _MOST and (probability > 0.5 * ALPHA or left < 2 * ndof or left < 0.2 * chi2)
    fits = not notable and known
    unseen = name_unseen(parts, np.sum([one.moved.matrix for one in evidence.values()], axis=0))
    return Verdict(fits, notable, chi2, ndof, left, probability, known, unseen)


def _added(
    table: Table, chosen: list[int], sizes: Floats, limit: float
) -> tuple[list[int], Floats, Solution]:
    """Add the best motion, or all efficiencies that are sure; return all, their sizes, and the last change.

    Displacements that were found have been put right; the rest of the equations is linear.
    """
    while len(chosen) < _MOST:
        gains, near = table.gains(chosen)
        if gains.max() < limit:
            break
        best = int(near[0])
        chosen, sizes = [*chosen, best], np.append(sizes, 0.0)
        if table.nuisances[best].unit:
            break
    fitted = table.fitted(chosen)
    moved = np.array([bool(table.nuisances[n].unit) for n in chosen], bool)
    sizes = np.where(moved, sizes, 0.0) + fitted.value if len(chosen) else sizes
    return chosen, sizes, fitted


def _placed(
    table: Table, chosen: Sequence[int], sizes: Floats, rows: Floats, parts: int
) -> dict[int, Floats]:
    """Return the displacements (parts, 6) of each polarity."""
    own, masks = table._of(chosen)
    motion = rows[own, : parts * len(FREEDOMS)]
    return {
        side: ((masks[:, n] * sizes) @ motion).reshape(parts, len(FREEDOMS))
        for n, side in enumerate(table.sides)
    }


def _named(table: Table, chosen: list[int], sizes: Floats, errors: Floats, limit: float) -> list[Found]:
    """Return the motions that are sure, each with others that the data hardly tell from it."""
    found = []
    for number, size, error in zip(chosen, sizes.tolist(), errors.tolist(), strict=True):
        if abs(size) < limit * error:
            continue
        one = table.nuisances[number]
        beside = [other for other in chosen if other != number]
        near = table.gains(beside, (number, size) if one.unit else None)[1][: _NAMED + 1]
        others = [table.nuisances[n].what for n in near if n != number]
        found.append(Found(one, size, error, others[:_NAMED]))
    return found


def judge_factors(
    reference: Reference, evidence: Mapping[int, Evidence], limit: float
) -> tuple[list[Found], float, int, float]:
    """Return the factors that the data show, χ² of the means and its number, and χ² that they leave."""
    means = Means.of(reference, evidence)
    chosen: list[int] = []
    fitted, left = means.fit([], [])
    directions_of = means.response.T
    while len(chosen) < _MOST:
        directions = directions_of
        if chosen:
            slopes = means.response[:, chosen] + 2 * means.curvature[:, chosen] * fitted.value
            basis = np.linalg.qr(slopes)[0]
            directions = directions - directions @ basis @ basis.T
        norms = np.linalg.norm(directions, axis=1)
        usable = norms > 1e-3 * np.linalg.norm(directions_of, axis=1)
        usable[chosen] = False
        z = np.where(usable, directions @ left / np.where(usable, norms, 1), 0)
        best = int(np.argmax(np.abs(z)))
        if abs(z[best]) < limit:
            break
        chosen = [*chosen, best]
        fitted, left = means.fit(chosen, [*fitted.value, z[best] / norms[best]])
    rows = zip(chosen, fitted.value.tolist(), fitted.error.tolist(), strict=True)
    found = [Found(reference.changes[n], size, error) for n, size, error in rows]
    return found, float(means.seen @ means.seen), len(means.seen), float(left @ left)


@dataclass(frozen=True)
class Means:
    """Whitened means (m,) of quantities beside a reference's, and what factors do to them, (m, c)."""

    names: list[str]
    seen: Floats
    response: Floats
    curvature: Floats

    @classmethod
    def of(cls, reference: Reference, evidence: Mapping[int, Evidence]) -> "Means":
        """Compare per information: a layer with fewer hits has the same errors."""
        count = sum(one.count for one in evidence.values())
        total, known = (
            np.sum([getattr(one, n) for one in evidence.values()], axis=0) for n in ("total", "known")
        )
        ratio = np.divide(known / count, reference.known, out=np.zeros_like(known), where=reference.known > 0)
        root = np.sqrt(ratio)
        whiten = whitener(root[:, None] * reference.covariance * root * (1 / count + 1 / reference.count))
        return cls(
            [one.what for one in reference.changes],
            whiten @ (total / count - ratio * reference.mean),
            *(whiten @ (ratio * of).T for of in (reference.response, reference.curvature)),
        )

    def fit(self, numbers: Sequence[int], start: Sequence[float]) -> tuple[Solution, Floats]:
        """Fit the sizes of some factors minus one; return them, and what is left of the means.

        A mean is a parabola in each size, and sizes are within 1.
        """
        names = [self.names[n] for n in numbers]
        if not names:
            return Solution(names, np.zeros(0), np.zeros((0, 0))), self.seen
        response, curvature = self.response[:, numbers], self.curvature[:, numbers]

        def left(sizes: Floats) -> Floats:
            return np.asarray(self.seen - response @ sizes - curvature @ sizes**2)

        fit = least_squares(left, np.clip(start, -0.9, 0.9), bounds=(-1.0, 1.0))
        return Solution(names, fit.x, np.linalg.inv(fit.jac.T @ fit.jac)), fit.fun
