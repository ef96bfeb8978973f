"""The reference of a monitor: what the sample shows on which a set was validated, and responses to factors.

It is the file ``monitor.json`` beside a set, or made from candidates of the same kind. Readers of a set
that do not know the file ignore it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from parkf.data.changes import FACTORS, Nuisance, changed
from parkf.data.equations import Equations, Floats, Solution, as_plain
from parkf.data.evidence import Evidence, gather
from parkf.data.parts import Parts
from parkf.data.quantities import Stations, measure
from parkf.data.tracks import Events
from parkf.fit.candidates import Candidates
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.params.manifest import Blobs
from parkf.params.parameter_set import ParameterSet

MONITOR_FILE = "monitor.json"
FORMAT = 4
FEWEST = 2000
"""Usable candidates of a reference."""
_RESPONSE = 10_000
"""Candidates from which a response is computed: good to a hundredth, because the same ones are compared."""
_SIZES = 0.1, 0.2
"""Factors minus one at which a response is computed."""
_KNOWN = (0.1, 0.5, 2.0, 1e-3, 1e-3, 1e-3)
"""mm and rad: how far parts of a reference may seem displaced, by the forms of the set, in each freedom."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Sums and means of a sample, and what c factors do to k quantities.

    `covariance` is that of the quantities of one candidate, so that the mean of n has 1/n of it. `response`
    and `curvature` are the first and half of the second derivative of the means for each factor.
    """

    stations: Stations
    count: int
    place: Floats  # (6·m,): displacements that the sample shows, mm and rad
    rest: Floats  # (6·m,): what they leave of the vector of their equations
    weight: Floats  # (6·m,): diagonal of the matrix of these equations
    crossed: Floats  # (c,): tracks that cross each cell
    hits: Floats  # (c,): their hits
    mean: Floats  # (k,)
    known: Floats  # (k,): information per candidate
    covariance: Floats  # (k, k)
    response: Floats  # (c, k), for each of FACTORS that is larger by 1
    curvature: Floats  # (c, k)
    candidates: int  # of which `count` are usable
    blobs: Mapping[str, str]  # SHA-256 of the set's files
    pairs: Mapping[str, Solution] = field(default_factory=dict)  # what masses show, by decay

    def save(self, path: Path) -> None:
        """Write the file."""
        pairs = {decay: (one.names, one.value, one.covariance) for decay, one in self.pairs.items()}
        content = {"format": FORMAT, **vars(self), "stations": vars(self.stations), "pairs": pairs}
        write_sealed(path, as_plain(content))


def load_reference(path: Path, blobs: Blobs) -> Reference:
    """Read ``monitor.json``; a ParkfError reports another format, or another set than `blobs`."""
    content: Any = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        got = content.get("format") if isinstance(content, dict) else "no mapping"
        raise ParkfError(f"{path}: format: got {got}, expected {FORMAT}; make the reference again")
    if content["blobs"] != blobs.fingerprints():
        raise ParkfError(
            f"{path}: is of another parameter set than the one beside it; make the reference again"
        )
    arrays: dict[str, Any] = {
        one.name: np.array(content[one.name]) for one in fields(Reference) if one.type == Floats
    }
    return Reference(
        Stations(**{name: np.array(one) for name, one in content["stations"].items()}),
        **arrays,
        **{name: content[name] for name in ("count", "candidates", "blobs")},
        pairs={decay: Solution(*one[:1], *map(np.array, one[1:])) for decay, one in content["pairs"].items()},
    )


def make_reference(
    parameters: ParameterSet,
    tracks: Candidates,
    event: Events | None = None,
    *,
    pairs: Mapping[str, Solution] | None = None,
) -> Reference:
    """Measure a sample, which the set is right for, and the response of its quantities to factors.

    Without `event`, each candidate is from an event of its own. The responses are those of the first 10,000
    candidates. Fewer than 2,000 usable candidates raise a ParkfError.
    """
    if tracks.count < FEWEST:
        raise ParkfError(f"reference: {tracks.count} candidates, expected at least {FEWEST}; give more")
    stations = Stations.of(tracks)
    parts = Parts.of_sample(parameters, stations)
    found = list(gather(parameters, tracks, parts, event=event).values())
    count = sum(one.count for one in found)
    if count < FEWEST:
        raise ParkfError(
            f"reference: {count} candidates with a good fit, expected at least {FEWEST}; give more"
        )
    mean = np.sum([one.total for one in found], axis=0) / count
    moved = Equations(found[0].moved.names)
    moved.matrix, moved.vector = (
        np.sum([getattr(one.moved, name) for one in found], axis=0) for name in ("matrix", "vector")
    )
    place = moved.solve(known=np.tile(_KNOWN, len(parts.names))).value
    response, curvature = responses(parameters, tracks.rows(slice(0, _RESPONSE)), FACTORS)
    return Reference(
        stations,
        count,
        place=place,
        rest=moved.vector - moved.matrix @ place,
        weight=np.diag(moved.matrix),
        crossed=np.sum([one.crossed for one in found], axis=0),
        hits=np.sum([one.hits for one in found], axis=0),
        mean=mean,
        known=np.sum([one.known for one in found], axis=0) / count,
        covariance=_covariance(found, mean) / count,
        response=response,
        curvature=curvature,
        candidates=tracks.count,
        blobs=parameters.manifest.blobs.fingerprints(),
        pairs=pairs or {},
    )


def _covariance(found: Sequence[Evidence], mean: Floats) -> Floats:
    """Covariance (k, k) of the sum of quantities.

    Tracks of an event share hits, so that the sums of events scatter more than the tracks alone say. Events
    are too few for correlations: these are the tracks'.
    """
    count = sum(one.count for one in found)
    covariance = np.sum([one.squares for one in found], axis=0) - count * np.outer(mean, mean)
    sizes, shared, squares = np.sum([one.by_event for one in found], axis=0)
    by_event = squares - 2 * mean * shared + mean**2 * sizes
    more = np.sqrt(np.maximum(by_event / np.maximum(np.diag(covariance), 1e-30), 1.0))
    return np.asarray(more[:, None] * covariance * more)


def responses(
    parameters: ParameterSet, tracks: Candidates, changes: Sequence[Nuisance]
) -> tuple[Floats, Floats]:
    """Return the first and half of the second derivative of the means for each change, (c, k) each.

    Factors are tried only above 1, where an error can be added, at two sizes. A mean is that for the
    information of the unchanged sample.
    """
    plain, known = (one.sum(axis=0) for one in measure(parameters, tracks))
    known = np.where(known > 0, known, 1.0)

    def moved(change: Nuisance, size: float) -> Floats:
        # Random numbers are the same at each size.
        random, both = np.random.default_rng([0, changes.index(change)]), []
        for one in changed(parameters, tracks, change, size, random):
            values, its = (part.sum(axis=0) for part in measure(parameters, one))
            both.append(values / np.where(its > 0, its, 1.0))
        return np.asarray((np.mean(both, axis=0) - plain / known) * known / count)

    count, first, second = len(measure(parameters, tracks)[0]), [], []
    for change in changes:
        a, b = _SIZES
        at = [moved(change, size) for size in (a, b)]
        # A parabola through 0 and both sizes.
        half = (at[0] / a - at[1] / b) / (a - b)
        first.append(at[0] / a - half * a)
        second.append(half)
    return np.array(first), np.array(second)
