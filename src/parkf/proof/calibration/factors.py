"""Factors on hit errors by layer and on scattering by region, from the monitor's quantities.

Quantities have a limit here, so that they are those of the cores. Without it, some hard scatterings decide:
where all scattering is larger by 10 %, they are taken for hit errors of the layers next to the material.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from parkf.fit.alignment.moving import Moving
from parkf.fit.candidates import Candidates
from parkf.params.parameter_set import ParameterSet
from parkf.proof.monitoring.changes import Change
from parkf.proof.monitoring.quantities import Floats, measure
from parkf.proof.monitoring.reference import Reference
from parkf.proof.monitoring.verdict import fit_sizes, whitener

KINDS = ("error", "noise")
"""Kinds of changes whose sizes are factors."""
LIMIT = 2.0
"""Standard deviations up to which a pull, or a step's scattering, counts."""
_AT_A_TIME = 1 << 13


class Factors(NamedTuple):
    """Factors that were fitted together: the c changes, factors minus one, and their covariance."""

    changes: list[Change]
    sizes: Floats  # (c,)
    covariance: Floats  # (c, c)


def of_detectors(change: Change) -> bool:
    """Whether a change is one of a whole detector's hit errors, or of the noise in a region."""
    return (change.kind == "error") == (change.number < 0)


def of_layers(change: Change) -> bool:
    """Whether a change is none of several layers or regions together, which are fitted one by one."""
    return change.detector == "velo" or change.number >= 0


def measure_factors(
    parameters: ParameterSet, tracks: Candidates, moving: Moving, reference: Reference
) -> tuple[Factors, Factors]:
    """Fit the factors with one for each detector's hit errors, and once more with one for each layer's.

    `moving` aligns the hits of `tracks`. The reference has the responses to the changes of :data:`KINDS`.
    """
    count, total = 0, np.zeros(len(reference.mean))
    for begin in range(0, tracks.count, _AT_A_TIME):
        some = moving(tracks.rows(slice(begin, begin + _AT_A_TIME)))
        values, _ = measure(parameters, some, reference.stations, reference.limit)
        count, total = count + len(values), total + values.sum(axis=0)
    whiten = whitener(reference.covariance * (1 / count + 1 / reference.count))
    seen = whiten @ (total / count - reference.mean)

    def fitted(chosen: Callable[[Change], bool]) -> Factors:
        numbers = [n for n, change in enumerate(reference.changes) if chosen(change)]
        sizes, covariance, _ = fit_sizes(reference, whiten, seen, numbers, [0.0] * len(numbers))
        return Factors([reference.changes[n] for n in numbers], sizes, covariance)

    return fitted(of_detectors), fitted(of_layers)
