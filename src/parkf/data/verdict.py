"""The fit of nuisances to a sample beside its reference, and the verdict: the smallest explanation.

All nuisances are linear in sums over tracks. What the reference shows, too, is taken off, per information
on each nuisance. The one that improves the fit most is accepted if chance would not do so for any that is
tried; then the others are tried beside it. Displacements come first, since they widen all residuals: hits
are put right by what was found, and measured again, until nothing is added. The rate of false alarms is
`ALPHA` for a sample that the reference describes. Errors follow from the scatter of the tracks' own scores,
with all that the hits of a track share. Scores of an event's tracks are independent: sums of events scatter
as much as the tracks do, to 1 %, and where they scatter more, in hit errors and noise, events are counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import least_squares
from scipy.sparse import csr_array
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import norm

from parkf.data.changes import FACTORS, Nuisance
from parkf.data.equations import Floats, Solution, whitener
from parkf.data.evidence import Evidence, gather
from parkf.data.hypotheses import NOT_LOOKED_AT, Found, motions
from parkf.data.parts import Parts
from parkf.data.reference import Reference
from parkf.data.weak import name_unseen
from parkf.fit.candidates import Candidates
from parkf.params.parameter_set import ParameterSet

ALPHA = 0.01
"""Rate of false alarms of a verdict, all nuisances together."""
_MOST = 6  # nuisances at once; more are another geometry
_PASSES = 10
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


def limit_of(count: int) -> float:
    """Return the errors beyond which one of `count` sizes is sure.

    Chance has any larger displacement or loss in a quarter of `ALPHA` of samples, and any larger factor in
    another one. The rest is for what no change explains.
    """
    return float(norm.isf(ALPHA / 8 / count))


class Table:
    """Scores, information and noise of e motions and efficiencies of parts by polarity, and all nuisances.

    A nuisance is a combination of these in all polarities or in one. The reference's noise is common to the
    polarities. `placed` is what was put right, (e,) by polarity.
    """

    def __init__(
        self,
        reference: Reference,
        evidence: Mapping[int, Evidence],
        nuisances: list[Nuisance],
        rows: Floats,
        placed: Mapping[int, Floats] | None = None,
    ):
        # Most rows are of a few parts.
        self.sides, self.rows = list(evidence), csr_array(rows)
        parts = (_beside(reference, one, (placed or {}).get(side)) for side, one in evidence.items())
        score, info, noise, common = zip(*parts, strict=True)
        masks = [np.ones(len(self.sides))]
        if len(self.sides) > 1:
            masks += list(np.eye(len(self.sides)))
        self.masks = np.array(masks)
        self.nuisances = [
            replace(one, sides=() if number == 0 else (self.sides[number - 1],))
            for number in range(len(masks))
            for one in nuisances
        ]
        counts = np.array([one.count for one in evidence.values()], np.float64)
        share = (self.masks @ counts)[:, None] / np.sqrt(counts.sum() * reference.count)
        # Matrices (e, e), and in which masks they are.
        self.info, self.noise = (
            (self.masks, info),
            (np.hstack([self.masks, share]), (*noise, np.sum(common, axis=0))),
        )
        self.limit = limit_of(len(self.nuisances))
        self.score = (self.masks @ (np.array(score) @ rows.T)).ravel()
        self.alone = [
            (masks**2 @ [self.rows.multiply(self.rows @ one).sum(axis=1) for one in of]).ravel()
            for masks, of in (self.info, self.noise)
        ]

    def placed(self, chosen: Sequence[int], sizes: Floats) -> dict[int, Floats]:
        """Return the displacements and efficiencies (e,) of each polarity, with nuisances of these sizes."""
        mask, number = np.divmod(np.array(chosen, np.int64), self.rows.shape[0])
        by_side = (self.masks[mask].T * sizes) @ self.rows[number].toarray()
        return dict(zip(self.sides, by_side, strict=True))

    def _shared(self, chosen: Sequence[int]) -> list[Floats]:
        """Information and noise between all nuisances and chosen ones, (n, s) each."""
        mask, number = np.divmod(np.array(chosen, np.int64), self.rows.shape[0])
        own, found = self.rows[number].toarray().T, []
        for masks, of in (self.info, self.noise):
            by = [self.rows @ (one @ own) * masks[mask, n] for n, one in enumerate(of)]
            found.append(np.einsum("mp,pjs->mjs", masks, by).reshape(len(self.score), len(chosen)))
        return found

    def fitted(self, chosen: Sequence[int]) -> Solution:
        """Fit some nuisances together."""
        own = list(chosen)
        info, noise = (of[own] for of in self._shared(own))
        inverse = np.linalg.pinv(info, hermitian=True)
        names = [self.nuisances[n].what for n in own]
        return Solution(names, inverse @ self.score[own], inverse @ noise @ inverse)

    def near(self, chosen: Sequence[int], moved: Mapping[int, float] | None = None) -> list[int]:
        """Return the nuisances that explain most beside the chosen ones, of those that are sure.

        Of nuisances that explain nearly as much, the one that is the most likely is the first, if small sizes
        are as likely as large ones on a logarithmic scale. `moved` are sizes by the number of nuisances
        that were put right and shall not be.
        """
        own = list(chosen)
        shared, mixed = self._shared(own)
        by = shared @ np.linalg.pinv(shared[own], hermitian=True)
        score = self.score
        for number, size in (moved or {}).items():
            score = score + size * self._shared([number])[0][:, 0]
        score = score - by @ score[own]
        left = self.alone[0] - (by * shared).sum(1)
        noise = self.alone[1] - 2 * (by * mixed).sum(1) + np.einsum("js,st,jt->j", by, mixed[own], by)
        free = left > 1e-3 * self.alone[0]
        free[own] = False
        # Squares of sizes over errors, and by how much χ² falls.
        squares = np.where(free, score**2 / np.where(free, np.maximum(noise, 1e-12), 1.0), 0.0)
        gain = np.where(squares > self.limit**2, score**2 / np.where(free, left, 1.0), 0.0)
        best = int(np.argmax(gain))
        if not gain[best]:
            return []
        # χ² of residuals that scatter more than the set says counts less.
        gain = (gain - gain[best]) * squares[best] / gain[best]
        near = np.flatnonzero(gain > -_AS_GOOD)
        arms = [_ARM if self.nuisances[n].unit == "rad" else 1.0 for n in near]
        return list(near[np.argsort(2 * np.log(arms * np.abs(score[near] / left[near])) - gain[near])])


def _beside(reference: Reference, one: Evidence, change: Floats | None) -> tuple[Floats, ...]:
    """Score (e,), information, noise and what the reference adds to it (e, e) of motions and efficiencies.

    What was changed (e,) has been put right: hits are elsewhere, and more or fewer are expected.
    """
    moved = one.moved
    weight = np.diag(moved.matrix)
    ratio = np.divide(weight, reference.weight, out=np.zeros_like(weight), where=reference.weight > 0)
    score = moved.vector - moved.matrix @ reference.place - ratio * reference.rest
    lost, *of_holes = _holes(reference, one, 0.0 if change is None else change[len(score) :])
    # The reference's tracks scatter like the sample's.
    matrices = moved.matrix, moved.noise, moved.noise
    return np.concatenate([score, lost]), *map(block_diag, matrices, of_holes)


def _holes(reference: Reference, one: Evidence, change: Floats | float) -> tuple[Floats, ...]:
    """Score (c,), information, noise and the reference's (c, c) of efficiencies, changed by `change`.

    A cell has the scatter that its tracks show, but at least that of the efficiency: one that has lost too
    few hits by chance would seem to be surely better.
    """
    usual = ((reference.hits + 0.5) / (reference.crossed + 1.0)).clip(1e-3, 1 - 1e-3)
    now = (usual * (1 + change)).clip(1e-3, 1 - 1e-3)
    cells, spread, count = len(usual), now * (1 - now), one.crossed
    # Of each track, the hits that it has minus those expected.
    less = np.hstack([-np.diag(now), np.eye(cells)])
    noise = less @ one.products @ less.T
    seen, expected = np.diag(noise), count * spread
    more = np.sqrt(np.divide(expected, seen, out=np.ones(cells), where=seen > 0).clip(1.0))
    noise = more[:, None] * noise * more + np.diag(np.where(seen > 0, 0.0, expected))
    weights = usual / spread
    common = count * (now / spread) ** 2 * usual * (1 - usual)
    return (
        weights * (one.hits - now * count),
        np.diag(count * usual**2 / spread),
        weights[:, None] * noise * weights,
        np.diag(common),
    )


def judge(reference: Reference, parameters: ParameterSet, tracks: Candidates) -> Verdict:
    """Compare candidates with a reference of a set."""
    parts = Parts.of_sample(parameters, reference.stations)
    nuisances, rows = motions(parts)
    evidence, placed = gather(parameters, tracks, parts), None
    chosen: list[int] = []
    sizes = np.zeros(0)
    for _ in range(_PASSES):
        table = Table(reference, evidence, nuisances, rows, placed)
        more = table.near(chosen)[:1] if len(chosen) < _MOST else []
        chosen, sizes = [*chosen, *more], np.append(sizes, 0.0 * np.array(more))
        if not chosen:
            break
        # What changes in both polarities, and in one by another size, changes in each by its own.
        mask, number = np.divmod(chosen, len(nuisances))
        for i in np.flatnonzero(mask == 0):
            for j in np.flatnonzero((number == number[i]) & (mask > 0)):
                chosen[i] = int((3 - mask[j]) * len(nuisances) + number[i])
                sizes[j] += sizes[i]
        fitted = table.fitted(chosen)
        sizes = sizes + fitted.value
        if not more and (np.abs(fitted.value) < _SETTLED * fitted.error).all():
            break
        placed = table.placed(chosen, sizes)
        if any(table.nuisances[n].unit for n in chosen):
            evidence = gather(parameters, tracks, parts, placed=placed)
    found = _named(table, chosen, sizes, fitted.error) if chosen else []
    factors, chi2, ndof, left = judge_factors(reference, evidence)
    notable = [one for one in (*found, *factors) if abs(one.size) > one.change.tolerance]
    probability = float(chi2_distribution.sf(left, ndof))
    known = len(chosen) < _MOST and (probability > 0.5 * ALPHA or left < 2 * ndof or left < 0.2 * chi2)
    fits = not notable and known
    unseen = name_unseen(parts, np.sum([one.moved.matrix for one in evidence.values()], axis=0))
    return Verdict(fits, notable, chi2, ndof, left, probability, known, unseen)


def _named(table: Table, chosen: list[int], sizes: Floats, errors: Floats) -> list[Found]:
    """Return the motions that are sure, each with others that the data hardly tell from it."""
    found = []
    for number, size, error in zip(chosen, sizes.tolist(), errors.tolist(), strict=True):
        if abs(size) < table.limit * error:
            continue
        rest = [other for other in chosen if other != number]
        near = table.near(rest, {number: size})[: _NAMED + 1]
        others = [table.nuisances[n].what for n in near if n != number]
        found.append(Found(table.nuisances[number], size, error, others[:_NAMED]))
    return found


def judge_factors(
    reference: Reference, evidence: Mapping[int, Evidence]
) -> tuple[list[Found], float, int, float]:
    """Return the factors that the data show, χ² of the means and its number, and χ² that they leave."""
    means = Means.of(reference, evidence)
    chosen: list[int] = []
    others: list[list[str]] = []
    fitted, left = means.fit(chosen)
    while len(chosen) < _MOST:
        tried = {n: means.fit([*chosen, n]) for n in range(len(means.names)) if n not in chosen}
        best, *near = sorted(tried, key=lambda n: tried[n][1])
        if left - tried[best][1] < limit_of(len(FACTORS)) ** 2:
            break
        near = [n for n in near[:_NAMED] if tried[n][1] < tried[best][1] + _AS_GOOD]
        others.append([FACTORS[n].what for n in near])
        chosen, (fitted, left) = [*chosen, best], tried[best]
    rows = zip(chosen, fitted.value.tolist(), fitted.error.tolist(), others, strict=True)
    found = [Found(FACTORS[n], size, error, rest) for n, size, error, rest in rows]
    return found, float(means.seen @ means.seen), len(means.seen), left


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
            [one.what for one in FACTORS],
            whiten @ (total / count - ratio * reference.mean),
            *(whiten @ (ratio * of).T for of in (reference.response, reference.curvature)),
        )

    def fit(self, numbers: Sequence[int]) -> tuple[Solution, float]:
        """Fit the sizes of some factors minus one; return them, and χ² that they leave of the means.

        A mean is a parabola in each size, and sizes are within 1.
        """
        names = [self.names[n] for n in numbers]
        if not names:
            return Solution(names, np.zeros(0), np.zeros((0, 0))), float(self.seen @ self.seen)
        response, curvature = self.response[:, numbers], self.curvature[:, numbers]

        def left(sizes: Floats) -> Floats:
            return np.asarray(self.seen - response @ sizes - curvature @ sizes**2)

        fit = least_squares(left, np.zeros(len(names)), bounds=(-1.0, 1.0))
        return Solution(names, fit.x, np.linalg.pinv(fit.jac.T @ fit.jac, hermitian=True)), 2 * float(
            fit.cost
        )
