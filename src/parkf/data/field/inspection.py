"""Result of a fit of nuisances as figures and findings, for a terminal and as JSON."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from parkf.data.equations import errors_of
from parkf.data.field.measure import Measured
from parkf.data.field.nuisances import FIELD, NUISANCES
from parkf.io.findings import Figure, Finding, Inspection

_CLEAR = 5.0  # errors; a nuisance that is further from 0 is a finding
_STRAINED = 3.0  # errors of what is known without the tracks; a nuisance that is further off is a finding
_FEWEST = 20  # tracks for a bias
_CHARGES = {"": (-1.0, 1.0), " of positive charge": (1.0,), " of negative charge": (-1.0,)}


def biases(measured: Measured) -> dict[str, tuple[float, float, int]]:
    """Weighted mean of (p - p_true)/p_true, its error, and the number of tracks, by charge.

    The error follows from the spread of the tracks. Their tails have been left out.
    """
    result = {}
    for name, charges in _CHARGES.items():
        own = np.isin(measured.charge, charges)
        if own.sum() >= _FEWEST:
            errors, weight = measured.error[own], measured.error[own] ** -2
            for when, values in (("before", measured.before[own]), ("after", measured.after[own])):
                mean = float(np.average(values, weights=weight))
                spread = float(np.std((values - mean) / errors))
                error = spread / float(np.sqrt(weight.sum()))
                result[f"bias of p{name}, {when}"] = mean, error, len(values)
    return result


def document(measured: Measured) -> dict[str, Any]:
    """Content of the JSON file: nuisances with errors, their correlations, biases and numbers of tracks."""
    found, nuisances = measured.nuisances, {}
    for (name, value), error in zip(found.by_name.items(), found.error.tolist(), strict=True):
        middle, width = measured.known[name]
        known = {"value": middle, "error": width} if np.isfinite(width) else None
        own = NUISANCES[name]
        numbers = {"value": value, "error": error, "known": known}
        nuisances[name] = numbers | {"unit": own.unit, "what": own.what}
    return {
        "nuisances": nuisances,
        "correlations": errors_of(found.covariance)["correlation"].tolist(),
        "biases": {
            name: {"value": value, "error": error, "tracks": count}
            for name, (value, error, count) in biases(measured).items()
        },
        "tracks": found.tracks,
        "hits_left_out": measured.left_out,
    }


def inspect_measured(measured: Measured, subject: str) -> Inspection:
    """Figures: every nuisance, and the bias of the momentum before and after its correction."""
    return Inspection.of(subject, _results(document(measured)))


def _results(found: dict[str, Any]) -> Iterator[Figure | Finding]:
    yield Figure("tracks", found["tracks"])
    yield Figure("hits left out", found["hits_left_out"])
    for name, one in found["nuisances"].items():
        scale, unit = (1.0, one["unit"]) if one["unit"] else (100.0, "%")
        value, error = scale * one["value"], scale * one["error"]
        yield Figure(name, value, unit, f"0 ± {error:.2g}")
        if name in FIELD and abs(value) > _CLEAR * error:
            evidence = f"{value:+.3g} ± {error:.2g} {unit}"
            what = f"the map differs from the field of the hits: {one['what']}"
            yield Finding("doubtful", what, evidence)
        if (known := one["known"]) and abs(one["value"] - known["value"]) > _STRAINED * known["error"]:
            evidence = f"{value:+.3g} ± {error:.2g}, known to be {scale * known['value']:.3g}"
            evidence = f"{evidence} ± {scale * known['error']:.2g} {unit}"
            yield Finding("doubtful", f"the tracks contradict what is known: {one['what']}", evidence)
    for name, one in found["biases"].items():
        yield Figure(name, 100.0 * one["value"], "%", f"0 ± {100.0 * one['error']:.2g}")
