"""Figures of a set as LHCb's trigger uses it: exported, read back, and fitted in the trigger's arithmetic.

The gates of a run measure the fit of this project. The trigger reads a set from files and fits with another
program. This module measures a set after its export, with the trigger's formulas in single precision.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit import fit_file
from parkf.fit.sample import Sample, chi2_per_ndof, momentum_residual, pulls
from parkf.fit.truth import Files
from parkf.io.errors import ParkfError
from parkf.io.files import scratch_folder
from parkf.io.track_columns import Rows
from parkf.params.exchange import export_trigger, import_trigger
from parkf.params.exchange.trigger import as_the_trigger_reads
from parkf.params.manifest import Gate
from parkf.params.parameter_set import ParameterSet, with_blobs
from parkf.proof.validation.core import Estimate
from parkf.proof.validation.figures import ENOUGH, event_of, momentum_figures
from parkf.proof.validation.fitting import fitted_samples, validation_files
from parkf.proof.validation.separation import ghosts_kept
from parkf.proof.validation.validate import measure_alone

BIAS = 2e-4
"""Largest allowed mean of δp/p in a bin of momentum, beyond its errors; no trigger selection notices it."""
ERRORS = 3.0
"""Number of standard errors by which bounds are widened."""
GHOSTS = 0.01
"""Largest allowed increase of the ghosts kept, over those of the set before, beyond its errors."""
SHIFT = 0.3
"""Largest allowed charge-odd shift at the beam, in units of the error; a straight line there costs 0.2."""


def read_back(parameters: ParameterSet, folder: Path) -> ParameterSet:
    """Export a set to a folder, and read it as the trigger does; a changed number raises a ParkfError."""
    export_trigger(parameters, folder)
    ours = import_trigger(folder)
    wrong = np.flatnonzero(ours.constant != parameters.constant)
    if len(wrong) or not np.array_equal(ours.table, parameters.table):
        raise ParkfError(
            f"{folder}: {len(wrong)} constants and {(ours.table != parameters.table).sum()} coefficients"
            " are not those of the set; export it again"
        )
    theirs = as_the_trigger_reads(ours)
    return with_blobs(ours.manifest, theirs.constant, theirs.table)


def fit_client(parameters: ParameterSet, samples: Sequence[Files]) -> Sample:
    """Export and read a set of production's forms, and fit samples in the trigger's single precision.

    The fits of `samples` are not read.
    """
    with scratch_folder() as name:
        folder = Path(name)
        read_back(parameters, folder / "trigger").save(folder / "set")
        fit = partial(fit_file, folder / "set", scheme="trigger", threads=1, trust=True)
        return fitted_samples(samples, fit)


def measure_client(sample: Sample) -> dict[str, Any]:
    """Measure a sample that was fitted in the trigger's arithmetic.

    The result has ``tracks``, the number of genuine candidates above 2 GeV, and ``ghosts``; ``core`` and
    ``bias`` of δp/p and the core width of the q/p ``pull``, with errors; ``momentum[]`` of
    :func:`parkf.proof.validation.validate.measure_alone`; ``kept``, the fraction of ghosts below the ``cut``
    on χ²/ndof that keeps 91 % of genuine candidates, with its error; ``kept_average``, the average over cuts
    that keep 87 to 95 %; ``not_finite.{genuine, all}``, fractions of candidates whose fit became NaN; and
    ``charge_odd.{tx, x}``, half of the difference between the median pulls of tracks with opposite bends.
    Fewer than 50 good tracks or ghosts raise a ParkfError.
    """
    genuine, good = sample.genuine, sample.good
    if min(len(good), len(sample.ghosts)) < ENOUGH:
        raise ParkfError(
            f"{len(good)} good tracks and {len(sample.ghosts)} ghosts, expected {ENOUGH} of each"
        )
    figures, alone = momentum_figures(momentum_residual(good)), measure_alone(sample)
    point, pull = alone["working_point"], alone["pulls"]["qop"]
    bent = np.sign(good["qop"]) * np.asarray(good["polarity"])
    return {
        "tracks": len(genuine),
        "ghosts": len(sample.ghosts),
        **{name: figures[name] for name in ("core", "core_error", "bias", "bias_error")},
        "pull": pull["width"],
        "pull_error": pull["width_error"],
        "momentum": alone["momentum"],
        "kept": point["ghost"],
        "kept_error": point["ghost_error"],
        "kept_average": _ghosts(sample).value,
        "cut": point["cut"],
        "not_finite": {"genuine": _lost(genuine), "all": _lost(sample.rows)},
        "charge_odd": {name: _odd(pulls(good, name), bent) for name in ("tx", "x")},
    }


def _ghosts(sample: Sample) -> Estimate:
    return ghosts_kept(sample, -chi2_per_ndof(sample.rows))


def client_gates(
    parameters: ParameterSet, run: Path, before: ParameterSet | None
) -> tuple[dict[str, Any], list[Gate]]:
    """Measure a set and the set `before` it with a run's candidates; return the figures and the gates."""
    files = validation_files(run)
    sample = fit_client(parameters, files)
    now = measure_client(sample)
    if before is None:
        return now, hold_client(now)
    other = fit_client(before, files)
    error = _ghosts(sample).minus(_ghosts(other)).error(event_of(sample.rows))
    return now, hold_client(now, measure_client(other), error)


def hold_client(
    now: Mapping[str, Any], before: Mapping[str, Any] | None = None, ghosts_error: float = 0.0
) -> list[Gate]:
    """Compare a set's figures with the trigger's bars, and with the set `before` it on the same sample.

    `ghosts_error` is that of the difference of both sets' ghosts, averaged over cuts.
    """
    worst = max(now["momentum"], key=lambda one: abs(one["bias"]) - ERRORS * one["bias_error"])
    bias, error = abs(worst["bias"]), worst["bias_error"]
    shift = max(map(abs, now["charge_odd"].values()))
    gates = [
        Gate(what="exported and read back", measured="the same numbers", bar="the same", met=True),
        _at_most(
            "in the trigger, mean of δp/p in each bin of momentum",
            (bias, f"{100 * bias:.3f} ± {100 * error:.3f} % ({worst['p_min']:g}–{worst['p_max']:g} GeV)"),
            (BIAS + ERRORS * error, f"≤ {100 * BIAS:g} %, give or take {ERRORS:g} errors"),
            "No selection of the trigger notices such a mean.",
        ),
        _at_most(
            "in the trigger, shift with the charge at the beam",
            (shift, f"{shift:.2f} σ"),
            (SHIFT, f"≤ {SHIFT:g} σ"),
            "A straight line to the beam costs 0.2.",
        ),
    ]
    if before is None:
        return gates
    n, lost, least = now["tracks"], now["not_finite"]["genuine"], before["not_finite"]["genuine"]
    most = least + ERRORS * float(np.sqrt(max(least, 1 / n) / n))
    kept, theirs = now["kept_average"], before["kept_average"]
    allowed = (1 + GHOSTS) * theirs + ERRORS * ghosts_error
    chance = f"A set may be worse than the one before it by {ERRORS:g} errors, which is chance."
    return [
        *gates,
        _at_most(
            "in the trigger, genuine tracks that become NaN",
            (lost, f"{100 * lost:.2f} %"),
            (most, f"≤ {100 * most:.2f} %; the set before has {100 * least:.2f} %"),
            chance,
        ),
        _at_most(
            "in the trigger, ghosts kept with 87 to 95 % of genuine tracks",
            (kept, f"{100 * kept:.2f} %"),
            (allowed, f"≤ {100 * allowed:.2f} %; the set before has {100 * theirs:.2f} %"),
            f"A set may keep {100 * GHOSTS:g} % more than the one before it, give or take {ERRORS:g} errors"
            " of both on the same candidates.",
        ),
    ]


def _at_most(what: str, figure: tuple[float, str], bar: tuple[float, str], reason: str) -> Gate:
    """Return a gate of a figure and its upper bound, both with their texts."""
    (value, measured), (most, text) = figure, bar
    met, known = value <= most, value if np.isfinite(value) else None
    return Gate(what=what, measured=measured, bar=text, met=met, value=known, at_most=most, reason=reason)


def _lost(rows: Rows) -> float:
    return float((~np.isfinite(np.asarray(rows["qop"]))).mean())


def _odd(pull: NDArray[Any], bent: NDArray[Any]) -> float:
    return float(np.median(pull[bent > 0]) - np.median(pull[bent < 0])) / 2
