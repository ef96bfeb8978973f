"""Result of a fit of nuisances as figures and findings, for a terminal and as JSON."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from parkf.detector.frame import Floats
from parkf.imports.field_fit.measure import Measured
from parkf.imports.field_fit.nuisances import FIELD, NUISANCES
from parkf.io.findings import Figure, Finding, Inspection

_CLEAR = 5.0  # errors; a nuisance that is further from 0 is a finding
_FEWEST = 20  # tracks for a bias
_CHARGES = {"": (-1.0, 1.0), " of positive charge": (1.0,), " of negative charge": (-1.0,)}


def inspect_measured(measured: Measured, subject: str) -> Inspection:
    """Figures: every nuisance, and the bias of the momentum before and after its correction."""
    return Inspection.of(subject, _results(measured))


def biases(measured: Measured) -> dict[str, tuple[float, float, int]]:
    """Weighted mean of (p - p_true)/p_true, its error, and the number of tracks, by charge.

    The error follows from the spread of the tracks. Their tails have been left out.
    """
    momenta, result = measured.momenta, {}
    for name, charges in _CHARGES.items():
        own = sum(momenta.charge == charge for charge in charges) > 0
        for when, values in (("before", momenta.before), ("after", momenta.after)):
            if own.sum() >= _FEWEST:
                result[f"bias of p{name}, {when}"] = _mean(values[own], momenta.error[own])
    return result


def document(measured: Measured) -> dict[str, Any]:
    """Content of the JSON file: nuisances with errors, their correlations, biases and numbers of tracks."""
    rows = zip(measured.names, measured.values.tolist(), measured.errors.tolist(), strict=True)
    return {
        "nuisances": {
            name: {"value": value, "error": error, "unit": NUISANCES[name].unit, "what": NUISANCES[name].what}
            for name, value, error in rows
        },
        "correlations": measured.correlations.tolist(),
        "biases": {
            name: {"value": value, "error": error, "tracks": count}
            for name, (value, error, count) in biases(measured).items()
        },
        "tracks": len(measured.momenta.before),
        "hits_left_out": measured.left_out,
    }


def _mean(values: Floats, errors: Floats) -> tuple[float, float, int]:
    weight = errors**-2
    mean = float(np.average(values, weights=weight))
    spread = float(np.std((values - mean) / errors))
    return mean, spread / float(np.sqrt(weight.sum())), len(values)


def _results(measured: Measured) -> Iterator[Figure | Finding]:
    yield Figure("tracks", len(measured.momenta.before))
    yield Figure("hits left out", measured.left_out)
    for name, value, error in zip(measured.names, measured.values, measured.errors, strict=True):
        nuisance = NUISANCES[name]
        scale, unit = (100.0, "%") if not nuisance.unit else (1.0, nuisance.unit)
        yield Figure(name, scale * float(value), unit, f"0 ± {scale * error:.2g}")
        if name in FIELD and abs(value) > _CLEAR * error:
            evidence = f"{scale * value:+.3g} ± {scale * error:.2g} {unit}"
            yield Finding(
                "doubtful", f"the map differs from the field of the hits: {nuisance.what}", evidence
            )
    for name, (mean, error, _) in biases(measured).items():
        yield Figure(name, 100.0 * mean, "%", f"0 ± {100.0 * error:.2g}")
