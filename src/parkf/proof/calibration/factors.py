"""Factors on hit errors by layer and on scattering by region, from the monitor's quantities.

Quantities have a limit here, so that they are those of the cores. Without it, some hard scatterings decide:
where all scattering is larger by 10 %, they are taken for hit errors of the layers next to the material.
"""

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


def is_one(change: Change) -> bool:
    """Whether a change is none of several layers or regions together, which are fitted one by one."""
    return change.detector == "velo" or change.number >= 0


def measure_factors(
    parameters: ParameterSet, tracks: Candidates, moving: Moving, reference: Reference
) -> tuple[list[Change], Floats, Floats]:
    """Fit all factors together; return the changes (c), their sizes, factors minus one, and covariance.

    `moving` aligns the hits of `tracks`. The reference has the responses to the changes of :data:`KINDS`.
    """
    count, total = 0, np.zeros(len(reference.mean))
    for begin in range(0, tracks.count, _AT_A_TIME):
        some = moving(tracks.rows(slice(begin, begin + _AT_A_TIME)))
        values, _ = measure(parameters, some, reference.stations, reference.limit)
        count, total = count + len(values), total + values.sum(axis=0)
    numbers = [n for n, change in enumerate(reference.changes) if is_one(change)]
    whiten = whitener(reference.covariance * (1 / count + 1 / reference.count))
    seen = whiten @ (total / count - reference.mean)
    sizes, covariance, _ = fit_sizes(reference, whiten, seen, numbers, [0.0] * len(numbers))
    return [reference.changes[n] for n in numbers], sizes, covariance
