"""The reference of a monitor: means of quantities on the sample that a set was validated on, and responses.

It is the file ``monitor.json`` beside a set, or made from candidates of the same kind. Readers of a set
that do not know the file ignore it.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from parkf.data.changes import AXES, Change, all_changes, changed
from parkf.data.equations import Floats
from parkf.data.histograms import Histograms
from parkf.data.quantities import Stations, measure, names
from parkf.fit.candidates import Candidates
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.params.manifest import Blobs
from parkf.params.parameter_set import ParameterSet

MONITOR_FILE = "monitor.json"
FORMAT = 1
FEWEST = 2000
"""Usable candidates of a reference."""
_RESPONSE = 10_000
"""Candidates from which a response is computed: good to a hundredth, because the same ones are compared."""
_ARRAYS = ("mean", "covariance", "response", "curvature")


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

    def error(self, count: int) -> Floats:
        """Return the covariance of the difference of the mean of `count` candidates and this one, (k, k)."""
        return np.asarray(self.covariance * (1 / count + 1 / self.count))

    def save(self, path: Path) -> None:
        """Write the file."""
        content: dict[str, Any] = {"format": FORMAT, "names": self.names, "count": self.count}
        # Seven digits are more than the statistics determine.
        for name in _ARRAYS:
            rows = np.atleast_2d(getattr(self, name))
            content[name] = [[float(f"{x:.7g}") for x in row] for row in rows]
        write_sealed(
            path,
            content
            | {"stations": self.stations.z.tolist(), "blobs": dict(self.blobs)}
            | {"changes": [asdict(one) for one in self.changes], "histograms": self.histograms.as_json()}
            | {"pairs": {decay: dict(peak) for decay, peak in self.pairs.items()}},
        )


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
    arrays = {name: np.array(content[name]) for name in _ARRAYS}
    return Reference(
        **{name: content[name] for name in ("names", "count", "blobs", "pairs")},
        **arrays | {"mean": arrays["mean"][0]},
        stations=Stations(np.array(content["stations"])),
        changes=[Change(**one) for one in content["changes"]],
        histograms=Histograms.of_json(content["histograms"]),
    )


def moments(pieces: Iterable[Floats]) -> tuple[int, Floats, Floats]:
    """Return the number of rows of all pieces (m, k), their mean (k,), and their covariance (k, k).

    The rows are not kept. They are compared with the mean of the first ones, so that no squares of large
    means are subtracted.
    """
    count, near, total, squares = 0, np.zeros(0), np.zeros(0), np.zeros((0, 0))
    for values in pieces:
        if not count:
            near = values.mean(axis=0) if len(values) else np.zeros(values.shape[1])
            total, squares = np.zeros_like(near), np.zeros((len(near),) * 2)
        own = values - near
        count, total, squares = count + len(own), total + own.sum(axis=0), squares + own.T @ own
    mean = total / max(count, 1)
    return count, near + mean, (squares - count * np.outer(mean, mean)) / max(count - 1, 1)


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

    `limit` is that of :func:`parkf.data.quantities.quantities`. The responses are those of the first 10,000
    candidates. Fewer than 2,000 usable candidates raise a ParkfError.
    """
    if tracks.count < FEWEST:
        raise ParkfError(f"reference: {tracks.count} candidates, expected at least {FEWEST}; give more")
    stations = Stations.of(tracks)
    histograms = Histograms.empty(stations)
    count, mean, covariance = moments(histograms.filled(parameters, tracks, stations, limit))
    if count < FEWEST:
        raise ParkfError(
            f"reference: {count} candidates with a good fit, expected at least {FEWEST}; give more"
        )
    changes = [one for one in all_changes(stations) if one.kind in kinds]
    first = tracks.rows(slice(0, _RESPONSE))
    response, curvature = responses(parameters, first, stations, changes, seed, limit)
    return Reference(
        names(stations),
        stations,
        count,
        mean,
        covariance,
        changes,
        response,
        curvature,
        histograms,
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
