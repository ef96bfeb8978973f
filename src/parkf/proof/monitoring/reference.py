"""The reference of a monitor: means of quantities on the sample that a set was validated on, and responses.

It is the file ``monitor.json`` beside a set, or made from candidates of the same kind. Readers of a set
that do not know the file ignore it.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from parkf.fit.candidates import Candidates
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.params.manifest import Blobs
from parkf.params.parameter_set import ParameterSet
from parkf.proof.monitoring.changes import AXES, Change, all_changes, changed
from parkf.proof.monitoring.histograms import Histograms
from parkf.proof.monitoring.quantities import Floats, Stations, measure, names

MONITOR_FILE = "monitor.json"
FORMAT = 1
FEWEST = 2000
"""Usable candidates of a reference."""
_RESPONSE = 10_000
"""Candidates from which a response is computed: good to a hundredth, because the same ones are compared."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Means of k quantities, and what c changes of the detector do to them.

    `covariance` is that of the quantities of one candidate, so that the mean of n has 1/n of it. `response`
    and `curvature` are the first and half of the second derivative of the means for each change.
    """

    names: list[str]
    stations: Stations
    count: int
    mean: Floats  # (k,)
    covariance: Floats  # (k, k)
    changes: list[Change]
    response: Floats  # (c, k), for 1 mm or for a factor larger by 1
    curvature: Floats  # (c, k)
    histograms: Histograms
    blobs: Mapping[str, str]  # SHA-256 of the set's files
    pairs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # peaks, by decay
    limit: float | None = None  # of the quantities; a file has those without a limit

    def expected(self, number: int, size: float) -> Floats:
        """Return the change of the means by one change of this size, (k,)."""
        shift: Floats = self.response[number] * size + self.curvature[number] * size**2
        return shift

    def save(self, path: Path) -> None:
        """Write the file."""
        arrays = ("mean", "covariance", "response", "curvature")
        content: dict[str, Any] = {"format": FORMAT, "names": self.names, "count": self.count}
        content |= {"stations": self.stations.z.tolist(), "blobs": dict(self.blobs)}
        # Seven digits are more than the statistics determine.
        content |= {
            name: [[float(f"{x:.7g}") for x in row] for row in np.atleast_2d(getattr(self, name))]
            for name in arrays
        }
        content["changes"] = [asdict(one) for one in self.changes]
        content |= {
            "histograms": self.histograms.as_json(),
            "pairs": {k: dict(v) for k, v in self.pairs.items()},
        }
        write_sealed(path, content)


class Moments:
    """Mean and covariance of quantities that come in pieces, whose numbers are not kept.

    Each piece is compared with its own mean, so that the squares of means are not subtracted.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean, self._spread = np.zeros(0), np.zeros((0, 0))

    def add(self, values: Floats) -> None:
        """Add the quantities of some candidates, (m, k)."""
        if not len(values):
            return
        if not self.count:
            self.mean, self._spread = np.zeros(values.shape[1]), np.zeros((values.shape[1],) * 2)
        mean, total = values.mean(axis=0), self.count + len(values)
        own, apart = values - mean, mean - self.mean
        self._spread += own.T @ own + np.outer(apart, apart) * (self.count * len(values) / total)
        self.mean = self.mean + apart * (len(values) / total)
        self.count = total

    @property
    def covariance(self) -> Floats:
        """Covariance of the quantities of one candidate, (k, k), as that of :func:`numpy.cov`."""
        return self._spread / (self.count - 1)


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
    return Reference(
        names=content["names"],
        stations=Stations(np.array(content["stations"])),
        count=content["count"],
        mean=np.array(content["mean"][0]),
        covariance=np.array(content["covariance"]),
        changes=[Change(**one) for one in content["changes"]],
        response=np.array(content["response"]),
        curvature=np.array(content["curvature"]),
        histograms=Histograms.of_json(content["histograms"]),
        blobs=content["blobs"],
        pairs=content["pairs"],
    )


def make_reference(
    parameters: ParameterSet,
    tracks: Candidates,
    *,
    seed: int = 0,
    pairs: Mapping[str, Mapping[str, float]] | None = None,
    kinds: Container[str] = (*AXES, "error", "noise"),
    limit: float | None = None,
) -> Reference:
    """Measure a sample, which the set is right for, and the response of its quantities to changes of `kinds`.

    `limit` is that of :func:`parkf.proof.monitoring.quantities.quantities`.
    The responses are those of the first 10,000 candidates. Fewer than 2,000 usable candidates raise a
    ParkfError.
    """
    if tracks.count < FEWEST:
        raise ParkfError(f"reference: {tracks.count} candidates, expected at least {FEWEST}; give more")
    stations = Stations.of(tracks)
    histograms = Histograms.empty(stations)
    moments = Moments()
    for values in histograms.filling(parameters, tracks, stations, limit):
        moments.add(values)
    if moments.count < FEWEST:
        raise ParkfError(
            f"reference: {moments.count} candidates with a good fit, expected at least {FEWEST}; give more"
        )
    changes = [one for one in all_changes(stations) if one.kind in kinds]
    first = tracks.rows(slice(0, _RESPONSE))
    response, curvature = responses(parameters, first, stations, changes, seed, limit)
    return Reference(
        names=names(stations),
        stations=stations,
        count=moments.count,
        mean=moments.mean,
        covariance=moments.covariance,
        changes=changes,
        response=response,
        curvature=curvature,
        histograms=histograms,
        blobs=parameters.manifest.blobs.fingerprints(),
        pairs=pairs or {},
        limit=limit,
    )


def responses(
    parameters: ParameterSet,
    tracks: Candidates,
    stations: Stations,
    changes: Sequence[Change],
    seed: int,
    limit: float | None = None,
) -> tuple[Floats, Floats]:
    """Return the first and half of the second derivative of the means for each change, (c, k) each.

    Displacements are tried on both sides; factors only above 1, where an error can be added, at two sizes.
    """
    modules = stations.number(np.nan_to_num(tracks.velo[2], nan=-np.inf))

    def summed(some: Candidates) -> tuple[int, Floats]:
        values = measure(parameters, some, stations, limit)[0]
        return len(values), values.sum(axis=0)

    count, total = summed(tracks)
    odd = np.array([name.startswith(("x of ", "y of ", "z of ")) for name in names(stations)])

    def moved(change: Change, size: float) -> Floats:
        # Only candidates with a hit in the module change. Random numbers are the same at each size.
        rows = np.arange(tracks.count)
        if change.kind in AXES and change.detector == "velo":
            rows = np.flatnonzero((modules == change.number).any(axis=1))
        if not len(rows):
            return np.zeros_like(total)
        some, random = tracks.rows(rows), np.random.default_rng([seed, changes.index(change)])
        own_count, own_total = summed(some)
        both = []
        for one in changed(parameters, some, change, size, stations, random):
            its_count, its_total = summed(one)
            both.append((total - own_total + its_total) / (count - own_count + its_count))
        shift: Floats = np.mean(both, axis=0) - total / count
        # Drawn errors and kicks are as often positive as negative.
        return shift if change.kind in AXES else np.where(odd, 0.0, shift)

    first, second = [], []
    for change in changes:
        a, b = (change.step, -change.step) if change.kind in AXES else (change.step, 2 * change.step)
        at = [moved(change, size) for size in (a, b)]
        # A parabola through 0 and both sizes.
        half = (at[0] / a - at[1] / b) / (a - b)
        first.append(at[0] / a - half * a)
        second.append(half)
    return np.array(first), np.array(second)
