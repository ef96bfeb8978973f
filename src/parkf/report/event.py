"""One event of a run: hits, tracks that were found, their fits, and the truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.fit.fitted import is_good
from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.events import tables_by_event
from parkf.io.tables import CANDIDATES, FITTED, HITS, PARTICLES, Table

F64 = NDArray[np.float64]

# z in mm of the points of a path.
PLANES = np.concatenate(
    [np.arange(-200.0, 800.0, 100.0), np.arange(800.0, 7800.0, 250.0), np.arange(7800.0, 9500.0, 100.0)]
)
GHOST = 0.7  # a candidate with a smaller fraction of hits of one particle is a ghost
_NEAR = 1e-3  # mm; hits of candidates are rounded to float32


@dataclass(frozen=True)
class Track:
    """A track that was found.

    The paths hold x, y, tx, ty and q/p at `PLANES`, by Runge-Kutta without scattering. They are NaN before
    the state, and where there is no state.
    """

    number: int  # of the candidate in its event
    particle: int  # to which most hits belong; -1 for noise
    purity: float  # fraction of the hits that are of that particle
    chi2: float  # χ²/ndof of the fit
    good: bool  # whether the fit is good
    p: float  # fitted momentum, GeV, with the charge's sign
    velo: F64  # (n, 3): x, y, z of VELO hits, mm
    strips: F64  # (n, 4): x at y = 0, z, dx/dy and error of UT and SciFi hits, mm
    own: NDArray[np.bool_]  # (n_velo + n_strips,): whether a hit is of that particle
    fit: F64  # (len(PLANES), 5): path of the fitted state
    truth: F64  # (len(PLANES), 5): path of the true state

    @property
    def ghost(self) -> bool:
        """Whether too few of the hits are of one particle."""
        return self.purity < GHOST


@dataclass(frozen=True)
class Event:
    """An event of a sample, with its hits and the tracks that were found."""

    sample: str
    number: int
    # (n, 4): x, y, z in mm (of strips in their middles), and the particle, -1 for noise. Without the run's
    # table of hits, they are those of the tracks.
    hits: F64
    tracks: Sequence[Track]


def hit_places(track: Track) -> tuple[F64, F64, F64]:
    """Return z and x of a track's hits, at the y of the fit, and the x of the fit at this z, (n,), in mm."""
    z = np.concatenate([track.velo[:, 2], track.strips[:, 1]])
    x, y = (np.interp(z, PLANES, track.fit[:, axis], left=np.nan) for axis in (0, 1))
    # The x of a strip is given at y = 0; with its slope follows the x at the track's y.
    slopes = np.concatenate([np.zeros(len(track.velo)), track.strips[:, 2]])
    measured = np.concatenate([track.velo[:, 0], track.strips[:, 0]])
    return z, measured + slopes * y, x


def load_event(run: Path, *, sample: str | None = None, number: int | None = None) -> Event:
    """Read an event of a finished run, with the fits of its tracks by the smoother.

    The default is the first event with a track in the first validation sample; ``validation_up`` is the name
    of a sample. An event that the run does not have raises a ParkfError.
    """
    if sample is None:
        found = sorted((run / "candidates").glob("validation_*.parquet"))
        if not found:
            raise ParkfError(f"{run / 'candidates'}: no validation sample")
        sample = found[0].stem
    candidates, number = _rows(CANDIDATES, run / f"candidates/{sample}.parquet", number)
    fitted, particles = (
        _rows(table, run / f"{folder}/{sample}.parquet", number)[0]
        for table, folder in ((FITTED, "fitted/parkf"), (PARTICLES, "particles"))
    )
    # Runs may remove their hits, and members of a family share those of another run.
    path = run / f"hits/{sample}.parquet"
    hits = _rows(HITS, path, number)[0] if path.is_file() else None
    if not candidates["candidate"].equals(fitted["candidate"]):
        raise ParkfError(f"{run}: candidates and fits of {sample} are not of the same rows; fit them again")
    field, polarity = FieldMap.load(run / "field.npz"), int(candidates["polarity"][0].as_py())
    start, (z, status) = _columns(fitted, "x", "y", "tx", "ty", "qop"), _columns(fitted, "z", "status").T
    good = is_good(status.astype(np.int32))
    fits = _paths(field, polarity, np.where(good[:, None], start, np.nan), z)
    truths = _true_paths(field, polarity, candidates, particles)
    ndof, chi2 = (
        _columns(fitted, f"{what}_velo", f"{what}_ut", f"{what}_scifi").sum(axis=1)
        for what in ("ndof", "chi2")
    )
    points = np.empty((0, 4)) if hits is None else _columns(hits, "x", "y", "z", "particle")
    tracks = []
    for i, row in enumerate(candidates.to_pylist()):
        velo, strips = _hits(row)
        own = points[points[:, 3] == row["particle"]]
        belongs = [_among(velo, own[:, :3]), _among(strips[:, :2], own[:, [0, 2]])]
        if hits is None:
            belongs = [np.ones(len(velo), np.bool_), np.ones(len(strips), np.bool_)]
        tracks.append(
            Track(
                number=row["candidate"],
                particle=row["particle"],
                purity=row["purity"],
                chi2=float(chi2[i] / max(ndof[i], 1)),
                good=bool(good[i]),
                p=1e-3 / start[i, 4] if start[i, 4] else float("nan"),
                velo=velo,
                strips=strips,
                own=np.concatenate(belongs),
                fit=fits[:, i],
                truth=truths[:, i],
            )
        )
    if hits is None:
        return Event(sample, number, _hits_of(tracks), tracks)
    middles = points.copy()
    middles[:, 0] += np.nan_to_num(points[:, 1] * _columns(hits, "dxdy")[:, 0])
    return Event(sample, number, middles, tracks)


def _hits_of(tracks: Sequence[Track]) -> F64:
    """Return the hits of tracks as :class:`Event` has them; a strip is at the y of its track's fit."""
    places = [np.empty((0, 4))]
    for track in tracks:
        z, x, _ = hit_places(track)
        y = np.concatenate(
            [track.velo[:, 1], np.interp(track.strips[:, 1], PLANES, track.fit[:, 1], left=np.nan)]
        )
        places.append(np.column_stack([x, y, z, np.full(len(z), track.particle)]))
    return np.concatenate(places)


def _rows(table: Table, path: Path, number: int | None) -> tuple[pa.Table, int]:
    """Return the rows and the number of an event; the first event of the file if `number` is None."""
    for rows in tables_by_event(table, path, events=1):
        event = int(rows["event"][0].as_py())
        if number is None or event == number:
            return rows.combine_chunks(), event
        if event > number:
            break
    raise ParkfError(f"{path}: no event {number if number is not None else ''}".rstrip())


def _columns(rows: pa.Table, *names: str) -> F64:
    return np.column_stack([numbers(rows[name]).astype(np.float64) for name in names])


def _paths(field: FieldMap, polarity: int, states: F64, z: F64) -> F64:
    """Extrapolate (n, 5) states to all planes: (planes, n, 5), NaN before their z and after they fail."""
    paths = np.full((len(PLANES), len(states), 5), np.nan)
    here, at = states.copy(), z.copy()
    for number, plane in enumerate(PLANES):
        going = np.flatnonzero((at <= plane) & np.isfinite(here).all(axis=1))
        if len(going) == 0:
            continue
        ended = propagate(field, polarity, here[going], at[going], (float(plane), 0.0, 0.0), threads=1)
        here[going], at[going] = ended.states, np.where(ended.ok, plane, np.inf)
        paths[number, going] = ended.states
    return paths


def _true_paths(field: FieldMap, polarity: int, candidates: pa.Table, particles: pa.Table) -> F64:
    x, y, z, px, py, pz, charge, key = _columns(
        particles, "x", "y", "z", "px", "py", "pz", "charge", "particle"
    ).T
    p = np.linalg.norm([px, py, pz], axis=0)
    states = np.column_stack([x, y, px / pz, py / pz, charge / p])
    place = {int(particle): row for row, particle in enumerate(key)}
    rows = np.array([place.get(particle, -1) for particle in candidates["particle"].to_pylist()])
    known = rows >= 0
    return _paths(
        field, polarity, np.where(known[:, None], states[rows], np.nan), np.where(known, z[rows], 0.0)
    )


def _hits(row: Mapping[str, Any]) -> tuple[F64, F64]:
    """Return the VELO hits and the strips of a candidate, as :class:`Track` has them."""
    velo = np.column_stack([row[f"velo_{axis}"][: row["velo_n"]] for axis in "xyz"])
    strips = np.concatenate(
        [
            np.column_stack([row[f"{detector}_{column}"] for column in ("x", "z", "dxdy", "sigma")])
            for detector in ("ut", "scifi")
        ]
    )
    return velo.astype(np.float64), strips[np.isfinite(strips[:, 0])].astype(np.float64)


def _among(points: F64, hits: F64) -> NDArray[np.bool_]:
    """Whether each of (n, k) points is one of (m, k) hits."""
    near = np.all(np.abs(hits - points[:, None]) < _NEAR, axis=2)
    return np.any(near, axis=1)
