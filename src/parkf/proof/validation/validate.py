"""The numbers of ``validation.json``."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import DETECTORS, STATE, Sample, chi2_per_ndof, momentum_residual, pulls
from parkf.io.errors import ParkfError
from parkf.io.track_columns import Rows
from parkf.io.workers import parallel_map
from parkf.proof.validation.beside import core_ratio
from parkf.proof.validation.breakdown import breakdown, fates
from parkf.proof.validation.cells import cells, directions
from parkf.proof.validation.core import fit_core
from parkf.proof.validation.impact import impact_parameters
from parkf.proof.validation.losses import losses
from parkf.proof.validation.precision import compare_precision
from parkf.proof.validation.scores import measure_scores
from parkf.proof.validation.separation import discriminant
from parkf.proof.validation.spread import spread
from parkf.proof.validation.tails import tails
from parkf.simulation.generate.decays import DECAYS

F64 = npt.NDArray[np.float64]

MOMENTUM_EDGES = (1.5, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
# Fine where trigger selections cut, coarse in the tail.
CUTS = np.unique(np.round(np.concatenate([np.arange(0.1, 5.0, 0.05), np.geomspace(5.0, 500.0, 60)]), 3))
WORKING_POINT = 0.91  # genuine efficiency of the paper's selection
_ENOUGH = 50  # entries below which a bin says nothing
_PULL_EDGES = np.linspace(-5.0, 5.0, 61)
_CHI2_EDGES = np.linspace(0.0, 10.0, 61)


def validate(
    fits: Mapping[str, Sample],
    float64: Sample,
    misaligned: Mapping[str, Sample] | None = None,
    signals: Mapping[str, Mapping[str, Sample]] | None = None,
    workers: int = 1,
) -> dict[str, Any]:
    """Measure every fit of the same candidates.

    Parameters
    ----------
    fits : mapping of str to Sample
        Name of the fit (``parkf``, ``parkf_robust``, ``paper_scheme``, ``velo_only``, ``full``) and its
        candidates.
    float64 : Sample
        Those of ``parkf`` again, fitted in float64.
    misaligned : mapping of str to Sample, optional
        The same from a detector that is not where the reconstruction believes it to be.
    signals : mapping of str to mapping of str to Sample, optional
        Signal samples (``jpsi``, ``d0``) of every fit.
    workers : int
        Fits that are measured at a time, each in a process of its own.

    Returns
    -------
    dict
        ``counts.{genuine, ghost, decayed}`` and ``fits.<name>`` with
        ``pulls.<component>.{mean, width, width68, width95}``,
        ``momentum[] = {p_min, p_max, core, width68, width95, bias, n, pulls.<component>}`` (GeV; fractions
        of p; the two widths are those of :func:`parkf.proof.validation.spread.spread`; for ``parkf_robust``
        ``core_over_plain``, its core over that of ``parkf``, with its error), ``lost[]`` of
        :func:`parkf.proof.validation.losses.losses`,
        ``roc[] = {cut, genuine, ghost}`` (efficiencies of χ²/ndof < cut), ``working_point``,
        ``failed`` (the number of candidates without a good fit) and ``histograms`` of pulls and of
        χ²/ndof, normalised to one including what lies outside. A fit of all detectors has ``separation.{roc,
        working_point}`` of :func:`parkf.proof.validation.separation.discriminant`, and ``scores`` of
        :func:`parkf.proof.validation.scores.measure_scores`, too. With `misaligned`,
        ``misaligned.{counts, fits.<name>}`` holds the same of that. The aligned fits have ``impact`` (of
        :func:`parkf.proof.validation.impact.impact_parameters`), ``breakdown``, ``fates``, ``cells``,
        ``directions`` (of :mod:`parkf.proof.validation.cells`) and ``tails`` (of
        :func:`parkf.proof.validation.tails.tails`); with `signals`
        ``masses.<signal>``, a peak's ``{mean, width, narrow, wide, share, n}`` with errors of the first two
        (MeV). ``precision`` is that of :func:`parkf.proof.validation.precision.compare_precision`.

    Raises
    ------
    ParkfError
        When there are too few genuine candidates or ghosts to measure anything.
    """
    for sample in (next(iter(several.values())) for several in (fits, misaligned) if several):
        _refuse_few(sample)

    def measured(job: tuple[str, bool]) -> dict[str, Any]:
        name, is_aligned = job
        if not is_aligned:
            return _measure((misaligned or {})[name])
        alone = _measure_aligned(fits[name])
        if name == "parkf_robust":
            _beside(alone["momentum"], _good(fits[name]), _good(fits["parkf"]))
        peaks = {signal: _peak(signal, samples[name]) for signal, samples in (signals or {}).items()}
        return alone | ({"masses": peaks} if peaks else {})

    jobs = [(name, True) for name in fits] + [(name, False) for name in misaligned or {}]
    done = dict(zip(jobs, parallel_map(measured, jobs, workers), strict=True))
    result = _of_all(fits, {name: done[name, True] for name in fits})
    result["precision"] = compare_precision(fits["parkf"], float64)
    if misaligned:
        result["misaligned"] = _of_all(misaligned, {name: done[name, False] for name in misaligned})
    return result


def measure_alone(sample: Sample) -> dict[str, Any]:
    """Measure one fit: ``pulls``, ``momentum``, ``roc`` and ``working_point`` of :func:`validate`.

    Raises
    ------
    ParkfError
        When there are too few genuine candidates to measure a core.
    """
    genuine = _good(sample)
    return {
        "pulls": _pulls(genuine),
        "momentum": _momentum(genuine),
        **_roc(chi2_per_ndof(sample.genuine), chi2_per_ndof(sample.ghosts), CUTS),
    }


def _refuse_few(sample: Sample) -> None:
    counts = _counts(sample)
    if min(counts.values()) < _ENOUGH:
        raise ParkfError(
            f"validation sample: {counts['genuine']} genuine candidates and {counts['ghost']} ghosts, "
            f"expected at least {_ENOUGH} of each; raise events.validation in the config"
        )


def _counts(sample: Sample) -> dict[str, int]:
    return {"genuine": len(sample.genuine), "ghost": len(sample.ghosts)}


def _of_all(fits: Mapping[str, Sample], measured: dict[str, dict[str, Any]]) -> dict[str, Any]:
    first = next(iter(fits.values()))
    return {"counts": {**_counts(first), "decayed": int(first.is_decayed.sum())}, "fits": measured}


def _measure_aligned(sample: Sample) -> dict[str, Any]:
    fit, good = _measure(sample), _good(sample)
    fit["impact"] = impact_parameters(good)
    fit |= {"cells": cells(good), "directions": directions(good), "tails": tails(sample)}
    fit["breakdown"] = breakdown(sample, fit["working_point"]["cut"])
    fit["fates"] = fates(sample, fit["working_point"]["cut"])
    if "separation" in fit:
        fit["scores"] = measure_scores(sample)
    return fit


def _peak(signal: str, sample: Sample) -> dict[str, Any]:
    # Imported only when needed, since it loads pandas and a minimiser.
    from parkf.proof.validation.masses import measure_peak

    return measure_peak(sample, DECAYS[signal])


def _measure(sample: Sample) -> dict[str, Any]:
    genuine = _good(sample)
    return {
        **measure_alone(sample),
        **({"separation": _separation(sample)} if _sees_all(genuine) else {}),
        "failed": int((sample.rows["status"] != 0).sum()),
        "lost": losses(sample),
        "histograms": {
            "pulls": {component: _histogram(pulls(genuine, component), _PULL_EDGES) for component in STATE},
            "chi2": {
                kind: _histogram(chi2_per_ndof(rows), _CHI2_EDGES)
                for kind, rows in (("genuine", sample.genuine), ("ghost", sample.ghosts))
            },
        },
    }


def _good(sample: Sample) -> Rows:
    """Genuine tracks with a good fit."""
    genuine = sample.genuine
    good: Rows = genuine[genuine["status"] == 0]
    return good


def _sees_all(rows: Rows) -> bool:
    return all((rows[f"ndof_{name}"] > 0).any() for name in DETECTORS)


def _histogram(values: F64, edges: F64) -> dict[str, list[float]]:
    content, _ = np.histogram(values, edges)
    return {"edges": edges.tolist(), "content": (content / max(len(values), 1)).tolist()}


def _pulls(rows: Rows) -> dict[str, dict[str, float]]:
    return {component: _pull(pulls(rows, component)) for component in STATE}


def _pull(values: F64) -> dict[str, float]:
    core = fit_core(values)
    return {
        "mean": core.mean,
        "mean_error": core.mean_error,
        "width": core.width,
        "width_error": core.width_error,
        **spread(values),
    }


def _momentum(rows: Rows) -> list[dict[str, Any]]:
    bins: list[dict[str, Any]] = []
    for low, high in pairwise(MOMENTUM_EDGES):
        inside = _of_momentum(rows, low, high)
        if len(inside) < _ENOUGH:
            continue
        residual = momentum_residual(inside)
        core = fit_core(residual)
        bins.append(
            {
                "p_min": low,
                "p_max": high,
                "core": core.width,
                "core_error": core.width_error,
                **spread(residual),
                "bias": core.mean,
                "bias_error": core.mean_error,
                "n": core.n,
                "pulls": _pulls(inside),
            }
        )
    return bins


def _beside(bins: list[dict[str, Any]], rows: Rows, plain: Rows) -> None:
    """Add to each bin of momentum what the core is over the plain fit's of the same tracks."""
    for one in bins:
        cores = (_of_momentum(fit, one["p_min"], one["p_max"]) for fit in (rows, plain))
        one["core_over_plain"], one["core_over_plain_error"] = core_ratio(*cores)


def _of_momentum(rows: Rows, low: float, high: float) -> Rows:
    inside: Rows = rows[(rows["p_true"] >= 1000 * low) & (rows["p_true"] < 1000 * high)]
    return inside


def _separation(sample: Sample) -> dict[str, Any]:
    genuine, ghosts = (-values for values in discriminant(sample))
    return _roc(genuine, ghosts, np.quantile(genuine[np.isfinite(genuine)], np.linspace(0.0, 1.0, 101)))


def _roc(genuine: F64, ghosts: F64, cuts: F64) -> dict[str, Any]:
    """Efficiencies of values below each cut, interpolated at the paper's working point."""
    kept = np.array([[(values < cut).mean() for cut in cuts] for values in (genuine, ghosts)])
    cut, ghost = (float(np.interp(WORKING_POINT, kept[0], column)) for column in (cuts, kept[1]))
    return {
        "roc": [
            {"cut": float(cut), "genuine": float(own), "ghost": float(other)}
            for cut, own, other in zip(cuts, *kept, strict=True)
        ],
        "working_point": {"genuine": WORKING_POINT, "cut": cut, "ghost": ghost},
    }
