"""Figures that compare samples of different origin: this project's simulation and LHCb's simulation."""

from typing import Any

import numpy as np

from parkf.fit.fitted import is_good
from parkf.fit.sample import DETECTORS, STATE, Sample, chi2_per_ndof, momentum_residual
from parkf.io.errors import ParkfError
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import central_widths
from parkf.proof.validation.figures import ENOUGH, momentum_figures, pull_figures

ETA = (2.0, 5.0)
RANGES = ((2.0, 5.0), (5.0, 20.0), (20.0, 100.0), (2.0, 100.0))  # GeV
LARGE = 3.0  # χ²/ndof above which a track looks wrong (the paper's cut)


def measure(sample: Sample) -> dict[str, Any]:
    """Measure resolution, pulls and χ² of genuine tracks with 2 < η < 5 and a good fit.

    The result has ``counts.{tracks, failed}`` and ``momentum[] = {p_min, p_max, n, half_width, core,
    width68, width95, bias, pull_width, pull_width68, pull_width95, pull_mean}`` (GeV; fractions of p),
    with ``<name>_error`` of each. `half_width` is for the central 68%; ``width68`` and ``width95`` are from
    :func:`parkf.proof.validation.core.central_widths`.
    There are also ``pulls.<component>.{mean, width, width68, width95}`` with errors, and ``chi2.{velo, ut,
    scifi, all} = {median, median_error, large}`` of χ²/ndof, where `large` is the fraction above three.
    Fewer than 50 such tracks raise a ParkfError.
    """
    rows = sample.genuine
    eta = np.arcsinh(1.0 / np.hypot(rows["true_tx"], rows["true_ty"]))
    rows = rows[(eta > ETA[0]) & (eta < ETA[1])]
    good = rows[is_good(rows["status"])]
    if len(good) < ENOUGH:
        raise ParkfError(f"measure: {len(good)} genuine tracks with a good fit, expected at least {ENOUGH}")
    p_true = 1e-3 * good["p_true"]
    inside = [(low, high, good[(p_true >= low) & (p_true < high)]) for low, high in RANGES]
    return {
        "counts": {"tracks": len(rows), "failed": len(rows) - len(good)},
        "momentum": [_momentum(low, high, part) for low, high, part in inside if len(part) >= ENOUGH],
        "pulls": {component: pull_figures(good, component) for component in STATE},
        "chi2": {
            "all": _chi2(good, DETECTORS),
            **{name: _chi2(good[good[f"ndof_{name}"] > 0], (name,)) for name in DETECTORS},
        },
    }


def _momentum(low: float, high: float, rows: Rows) -> dict[str, float]:
    residual = momentum_residual(rows)
    half_width = central_widths(residual)["width68"]
    return {
        "p_min": low,
        "p_max": high,
        "n": len(rows),
        **half_width.named("half_width"),
        **momentum_figures(residual),
        **pull_figures(rows, "qop", "pull_"),
    }


def _chi2(rows: Rows, detectors: tuple[str, ...]) -> dict[str, float]:
    values = chi2_per_ndof(rows, detectors)
    half_width = central_widths(values)["width68"].value
    return {
        "median": float(np.median(values)),
        "median_error": 1.2533 * half_width / len(values) ** 0.5,  # of a Gaussian
        "large": float((values > LARGE).mean()),
    }
