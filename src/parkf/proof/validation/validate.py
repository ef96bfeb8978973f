"""The numbers of ``validation.json``."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.sample import DETECTORS, STATE, Sample, chi2_per_ndof, pulls
from parkf.io.errors import ParkfError
from parkf.io.track_columns import Rows
from parkf.io.workers import parallel_map
from parkf.proof.validation.breakdown import breakdown, cells, directions, fates, impact_parameters, losses
from parkf.proof.validation.figures import (
    ENOUGH,
    WORKING_POINT,
    binned,
    core_ratio,
    momentum_figures,
    pull_figures,
)
from parkf.proof.validation.separation import measure_scores
from parkf.proof.validation.tails import tails
from parkf.simulation.generate.decays import DECAYS

F64 = npt.NDArray[np.float64]

MOMENTUM_EDGES = (1.5, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
# Fine where trigger selections cut, coarse in the tail.
CUTS = np.unique(np.round(np.concatenate([np.arange(0.1, 5.0, 0.05), np.geomspace(5.0, 500.0, 60)]), 3))
_PULL_EDGES = np.linspace(-5.0, 5.0, 61)
_CHI2_EDGES = np.linspace(0.0, 10.0, 61)


def validate(
    fits: Mapping[str, Sample],
    misaligned: Mapping[str, Sample] | None = None,
    signals: Mapping[str, Mapping[str, Sample]] | None = None,
    workers: int = 1,
) -> dict[str, Any]:
    """Measure every fit of the same candidates; too few genuine ones or ghosts raise a ParkfError.

    `fits` are samples by the name of the fit: ``parkf``, ``parkf_robust``, ``trigger``, ``full``.
    `misaligned` are fits of a sample whose detector is not where the reconstruction assumes it, and `signals`
    are fits of signal samples (``jpsi``, ``d0``). At most `workers` fits are measured at a time, each in a
    separate process.

    The result has ``counts.{genuine, ghost, decayed}`` and ``fits.<name>``. Each fit has
    ``pulls.<component>.{mean, width, width68, width95}`` and ``momentum[] = {p_min, p_max, core, width68,
    width95, bias, n, pulls.<component>}`` (GeV; fractions of p), with the widths of
    :func:`parkf.proof.validation.core.spread`. For ``parkf_robust``, ``core_over_plain`` is its core over
    that of ``parkf``, with its error. Each fit also has ``lost[]``, ``roc[] = {cut, genuine, ghost}``
    (efficiencies of χ²/ndof < cut), ``working_point``, and ``failed``, the number of candidates without a
    good fit. ``histograms`` of pulls and χ²/ndof are normalised to one, including entries outside. A fit of
    all detectors also has ``scores`` (:mod:`parkf.proof.validation.separation`). With `misaligned`,
    ``misaligned.{counts, fits.<name>}`` has the same for those candidates, without scores. The aligned fits
    have ``impact``, ``breakdown``, ``fates``, ``cells`` and
    ``directions`` (:mod:`parkf.proof.validation.breakdown`) and ``tails``
    (:mod:`parkf.proof.validation.tails`); with `signals` ``masses.<signal>``, a peak's ``{mean, width,
    narrow, wide, share, n}`` with errors of the first two (MeV).
    """
    for several in filter(None, (fits, misaligned)):
        counts = _counts(several)
        if min(counts["genuine"], counts["ghost"]) < ENOUGH:
            raise ParkfError(
                f"validation sample: {counts['genuine']} genuine candidates and {counts['ghost']} ghosts, "
                f"expected at least {ENOUGH} of each; raise events.validation in the config"
            )

    def measured(job: tuple[str, bool]) -> dict[str, Any]:
        name, is_aligned = job
        if not is_aligned:
            return _measure((misaligned or {})[name])
        sample = fits[name]
        fit, good = _measure(sample), sample.good
        cut = fit["working_point"]["cut"]
        fit |= {"impact": impact_parameters(good), "cells": cells(good), "directions": directions(good)}
        fit |= {"tails": tails(sample), "breakdown": breakdown(sample, cut), "fates": fates(sample, cut)}
        if all((good[f"ndof_{detector}"] > 0).any() for detector in DETECTORS):
            fit["scores"] = measure_scores(sample)
        if name == "parkf_robust":
            both = zip(_by_momentum(good), _by_momentum(fits["parkf"].good), strict=True)
            pairs = {low: (rows, plain) for (low, _, rows), (_, _, plain) in both}
            for one in fit["momentum"]:
                one["core_over_plain"], one["core_over_plain_error"] = core_ratio(*pairs[one["p_min"]])
        if signals:
            # Imported only when needed, since it loads pandas and a minimiser.
            from parkf.proof.validation.masses import measure_peak

            peaks = {key: measure_peak(samples[name], DECAYS[key]) for key, samples in signals.items()}
            fit["masses"] = peaks
        return fit

    jobs = [(name, True) for name in fits] + [(name, False) for name in misaligned or {}]
    done = dict(zip(jobs, parallel_map(measured, jobs, workers), strict=True))
    result = {"counts": _counts(fits), "fits": {name: done[name, True] for name in fits}}
    if misaligned:
        alike = {name: done[name, False] for name in misaligned}
        result["misaligned"] = {"counts": _counts(misaligned), "fits": alike}
    return result


def measure_alone(sample: Sample) -> dict[str, Any]:
    """Measure one fit: ``pulls``, ``momentum``, ``roc`` and ``working_point`` of :func:`validate`.

    Without ghosts, the last two are left out.
    """
    good, ghosts = sample.good, sample.ghosts
    separated = _roc(chi2_per_ndof(sample.genuine), chi2_per_ndof(ghosts), CUTS) if len(ghosts) else {}
    return {
        "pulls": _pulls(good),
        "momentum": [
            {"p_min": low, "p_max": high, "n": len(rows), **momentum_figures(rows), "pulls": _pulls(rows)}
            for low, high, rows in _by_momentum(good)
            if len(rows) >= ENOUGH
        ],
        **separated,
    }


def _counts(fits: Mapping[str, Sample]) -> dict[str, int]:
    """Count genuine tracks, ghosts and decayed particles; the candidates of all fits are the same."""
    first = next(iter(fits.values()))
    kinds = {"genuine": first.is_genuine, "ghost": first.is_ghost, "decayed": first.is_decayed}
    return {kind: int(which.sum()) for kind, which in kinds.items()}


def _measure(sample: Sample) -> dict[str, Any]:
    good = sample.good
    return {
        **measure_alone(sample),
        "failed": int((~is_good(sample.rows["status"])).sum()),
        "lost": losses(sample),
        "histograms": {
            "pulls": {component: _histogram(pulls(good, component), _PULL_EDGES) for component in STATE},
            "chi2": {
                kind: _histogram(chi2_per_ndof(rows), _CHI2_EDGES)
                for kind, rows in (("genuine", sample.genuine), ("ghost", sample.ghosts))
            },
        },
    }


def _histogram(values: F64, edges: F64) -> dict[str, list[float]]:
    content, _ = np.histogram(values, edges)
    return {"edges": edges.tolist(), "content": (content / max(len(values), 1)).tolist()}


def _pulls(rows: Rows) -> dict[str, dict[str, float]]:
    return {component: pull_figures(rows, component) for component in STATE}


def _by_momentum(rows: Rows) -> Iterator[tuple[float, float, Rows]]:
    """Yield the edges of each bin of true momentum (GeV) and the tracks in it."""
    for low, high, inside in binned(rows["p_true"], [1000 * edge for edge in MOMENTUM_EDGES]):
        yield low / 1000, high / 1000, rows[inside]


def _roc(genuine: F64, ghosts: F64, cuts: F64) -> dict[str, Any]:
    """Return the efficiencies of values below each cut, interpolated at the paper's working point."""
    kept = np.array([[(values < cut).mean() for cut in cuts] for values in (genuine, ghosts)])
    cut, ghost = (float(np.interp(WORKING_POINT, kept[0], column)) for column in (cuts, kept[1]))
    return {
        "roc": [
            {"cut": float(cut), "genuine": float(own), "ghost": float(other)}
            for cut, own, other in zip(cuts, *kept, strict=True)
        ],
        "working_point": {"genuine": WORKING_POINT, "cut": cut, "ghost": ghost},
    }
