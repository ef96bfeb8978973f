"""The numbers of ``validation.json``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.sample import DETECTORS, STATE, Sample, chi2_per_ndof, momentum_residual, pulls
from parkf.io.errors import ParkfError
from parkf.io.track_columns import Rows
from parkf.io.workers import parallel_map
from parkf.proof.validation.breakdown import breakdown, cells, directions, fates, impact_parameters, losses
from parkf.proof.validation.figures import (
    ENOUGH,
    binned,
    compare_momenta,
    event_of,
    momentum_figures,
    pull_figures,
)
from parkf.proof.validation.separation import measure_cut, measure_scores
from parkf.proof.validation.tails import tails
from parkf.simulation.generate.decays import DECAYS

F64 = npt.NDArray[np.float64]

MOMENTUM_EDGES = (1.5, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
_EDGES = [1000 * edge for edge in MOMENTUM_EDGES]  # MeV
# Fine where trigger selections cut, coarse in the tail.
CUTS = np.unique(np.round(np.concatenate([np.arange(0.1, 5.0, 0.05), np.geomspace(5.0, 500.0, 60)]), 3))
_PULL_EDGES = np.linspace(-5.0, 5.0, 61)
_CHI2_EDGES = np.linspace(0.0, 10.0, 61)


def validate(
    fits: Mapping[str, Sample],
    misaligned: Mapping[str, Sample] | None = None,
    signals: Mapping[str, Mapping[str, Sample]] | None = None,
    workers: int = 1,
    control: tuple[Sample, int] | None = None,
) -> dict[str, Any]:
    """Measure every fit of the same candidates; too few genuine ones or ghosts raise a ParkfError.

    `fits` are samples by the name of the fit: ``parkf``, ``parkf_robust``, ``trigger``, ``full``.
    `misaligned` are fits of a sample whose detector is not where the reconstruction assumes it, and `signals`
    are fits of signal samples (``jpsi``, ``d0``). At most `workers` fits are measured at a time, each in a
    separate process. `control` has full fits from 50 GeV of these and of more events, and the number of the
    latter (:func:`parkf.proof.validation.control.with_stiff_tracks`).

    The result has ``counts.{genuine, ghost, decayed, crossings}`` and ``fits.<name>``. Each fit has
    ``pulls.<component>`` (:func:`parkf.proof.validation.figures.pull_figures`) and ``momentum[] = {p_min,
    p_max, n, pulls.<component>}`` (GeV) with the figures of
    :func:`parkf.proof.validation.figures.momentum_figures`. There, fits are compared with the full fit of the
    same tracks (:func:`parkf.proof.validation.figures.compare_momenta`), and ``parkf_robust`` with the
    ``plain`` one. ``control.momentum`` is that of the full fit, from 50 GeV of the tracks in `control`, with
    the ``crossings`` of each bin. A fit's ``bias_controlled`` is its difference from the full fit's on the
    same tracks, added to that of the control, which has more tracks. Each fit also has ``lost[]``, ``roc[] =
    {cut, genuine, ghost}`` (efficiencies of χ²/ndof < cut), ``working_point``, and ``failed``, the number of
    candidates without a good fit. ``histograms`` of pulls and χ²/ndof are normalised to one, including
    entries outside. A fit of all detectors also has ``scores`` (:mod:`parkf.proof.validation.separation`).
    With `misaligned`, ``misaligned.{counts, fits.<name>}`` has the same for those candidates, without scores.
    The aligned fits have ``impact``, ``breakdown``, ``fates``, ``cells`` and ``directions``
    (:mod:`parkf.proof.validation.breakdown`) and ``tails`` (:mod:`parkf.proof.validation.tails`); with
    `signals` ``masses.<signal>``, a peak's ``{mean, width, narrow, wide, share, n}`` with errors of the first
    two (MeV).
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
        sample, full = fits[name], fits.get("full") if name != "full" else None
        fit, rows, others = _measure(sample), sample.good, None
        if full:
            rows, others = beside(fit["momentum"], sample, full, "full")
        if name == "parkf_robust":
            beside(fit["momentum"], sample, fits["parkf"], "plain")
        cut = fit["working_point"]["cut"]
        fit |= {"impact": impact_parameters(sample.good), "tails": tails(sample), "fates": fates(sample, cut)}
        fit |= {"cells": cells(rows, others), "directions": directions(rows, others)}
        fit["breakdown"] = breakdown(sample, cut, full)
        if all((rows[f"ndof_{detector}"] > 0).any() for detector in DETECTORS):
            fit["scores"] = measure_scores(sample)
        if signals:
            # Imported only when needed, since it loads pandas and a minimiser.
            from parkf.proof.validation.masses import measure_peak

            peaks = {key: measure_peak(samples[name], DECAYS[key]) for key, samples in signals.items()}
            fit["masses"] = peaks
        return fit

    jobs = [(name, True) for name in fits] + [(name, False) for name in misaligned or {}]
    done = dict(zip(jobs, parallel_map(measured, jobs, workers), strict=True))
    result: dict[str, Any] = {"counts": _counts(fits), "fits": {name: done[name, True] for name in fits}}
    if "full" in fits:
        result["control"] = _controlled(result, *(control or (None, 0)))
    if misaligned:
        alike = {name: done[name, False] for name in misaligned}
        result["misaligned"] = {"counts": _counts(misaligned), "fits": alike}
    return result


def _controlled(result: Mapping[str, Any], stiff: Sample | None, more: int) -> dict[str, Any]:
    """Measure the control, and add ``bias_controlled`` to the bins of fits that are compared with it."""
    fits, crossings = result["fits"], result["counts"]["crossings"]
    bins = {one["p_min"]: one | {"crossings": crossings} for one in fits["full"]["momentum"]}
    for one in measure_alone(stiff)["momentum"] if stiff else ():
        bins[one["p_min"]] = one | {"crossings": crossings + more}
    for one in (one for fit in fits.values() for one in fit["momentum"] if "bias_minus_full" in one):
        known = bins[one["p_min"]]
        one["bias_controlled"] = known["bias"] + one["bias_minus_full"]
        one["bias_controlled_error"] = float(np.hypot(known["bias_error"], one["bias_minus_full_error"]))
        one["crossings"] = known["crossings"]
    return {"momentum": list(bins.values())}


def measure_alone(sample: Sample, edges: Sequence[float] = MOMENTUM_EDGES) -> dict[str, Any]:
    """Measure one fit: ``pulls``, ``momentum``, ``roc`` and ``working_point`` of :func:`validate`.

    Bins of momentum have these edges in GeV. Without ghosts, the last two are left out.
    """
    good = sample.good
    residual = momentum_residual(good)
    measured: dict[str, Any] = {"pulls": _pulls(good), "momentum": []}
    for low, high, inside in binned(good["p_true"], [1000 * edge for edge in edges], ENOUGH):
        place = {"p_min": low / 1000, "p_max": high / 1000, "n": int(inside.sum())}
        figures = {**momentum_figures(residual[inside]), "pulls": _pulls(good[inside])}
        measured["momentum"].append(place | figures)
    if len(sample.ghosts):
        point = measure_cut(sample, -chi2_per_ndof(sample.rows))["working_point"]
        measured |= {"roc": _roc(sample), "working_point": point | {"cut": -point["cut"]}}
    return measured


def beside(bins: list[dict[str, Any]], own: Sample, other: Sample, name: str) -> tuple[Rows, Rows]:
    """Add to the bins of momentum of a fit how it compares with another fit of the same candidates.

    `bins` are those of :func:`measure_alone`. Return the tracks that both fit well, row by row.
    """
    good = own.is_genuine & is_good(own.rows["status"]) & is_good(other.rows["status"])
    rows, others = own.rows[good], other.rows[good]
    event, residual, theirs = event_of(rows), momentum_residual(rows), momentum_residual(others)
    of_bins = {one["p_min"]: one for one in bins}
    for low, _, inside in binned(rows["p_true"], _EDGES, ENOUGH):
        of_bins[low / 1000] |= compare_momenta(residual[inside], theirs[inside], event[inside], name)
    return rows, others


def _counts(fits: Mapping[str, Sample]) -> dict[str, int]:
    """Count genuine tracks, ghosts, decayed particles and crossings; candidates of all fits are the same."""
    first = next(iter(fits.values()))
    kinds = {"genuine": first.is_genuine, "ghost": first.is_ghost, "decayed": first.is_decayed}
    counts = {kind: int(which.sum()) for kind, which in kinds.items()}
    return counts | {"crossings": int(event_of(first.rows).max()) + 1}


def _measure(sample: Sample) -> dict[str, Any]:
    good, failed = sample.good, int((~is_good(sample.rows["status"])).sum())
    return {
        **measure_alone(sample),
        "failed": failed,
        "failed_over_genuine": float(failed / sample.is_genuine.sum()),
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


def _roc(sample: Sample) -> list[dict[str, float]]:
    """Return the efficiencies of χ²/ndof below each of :data:`CUTS`."""
    kept = [
        [float((values < cut).mean()) for cut in CUTS]
        for values in map(chi2_per_ndof, (sample.genuine, sample.ghosts))
    ]
    return [
        {"cut": float(cut), "genuine": own, "ghost": other}
        for cut, own, other in zip(CUTS, *kept, strict=True)
    ]
