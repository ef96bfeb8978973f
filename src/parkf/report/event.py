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
from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.events import tables_by_event
from parkf.io.tables import CANDIDATES, FITTED, HITS, PARTICLES, Table

F64 = NDArray[np.float64]

# Where paths are drawn through, mm: dense in the magnet, where they bend.
PLANES = np.concatenate(
    [np.arange(-200.0, 800.0, 100.0), np.arange(800.0, 7800.0, 250.0), np.arange(7800.0, 9500.0, 100.0)]
)
GHOST = 0.7  # share of hits of one particle below which a candidate is a ghost
_NEAR = 1e-3  # mm; candidates keep float32


@dataclass(frozen=True)
class Track:
    """A track that was found.

    Attributes
    ----------
    number : int
        Of the candidate in its event.
    particle : int
        That most hits belong to; -1 for noise.
    purity : float
        Share of hits of that particle.
    chi2 : float
        χ²/ndof of the fit.
    good : bool
        Whether the fit is.
    p : float
        Fitted momentum, GeV, with the charge's sign.
    velo : (n, 3) float64
        x, y, z of VELO hits, mm.
    strips : (n, 4) float64
        x at y = 0, z, dx/dy and error of UT and SciFi hits, mm.
    own : (n_velo + n_strips,) bool
        Whether a hit is of that particle.
    fit, truth : (len(PLANES), 5) float64
        Paths of the fitted and of the true state, by Runge-Kutta without scattering; NaN before they begin,
        and where there is none.
    """

    number: int
    particle: int
    purity: float
    chi2: float
    good: bool
    p: float
    velo: F64
    strips: F64
    own: NDArray[np.bool_]
    fit: F64
    truth: F64

    @property
    def ghost(self) -> bool:
        """Whether no particle made enough of the hits."""
        return self.purity < GHOST


@dataclass(frozen=True)
class Event:
    """An event.

    Attributes
    ----------
    sample : str
    number : int
    hits : (n, 4) float64
        x, y, z in mm (of strips in their middles), and the particle, -1 for noise.
    tracks : sequence of Track
    """

    sample: str
    number: int
    hits: F64
    tracks: Sequence[Track]


def hit_distances(track: Track) -> tuple[F64, F64]:
    """Return z and the distance of a track's hits from its fitted path in x, each (n,), in mm."""
    z = np.concatenate([track.velo[:, 2], track.strips[:, 1]])
    x, y = (np.interp(z, PLANES, track.fit[:, axis], left=np.nan) for axis in (0, 1))
    # A strip's x is that at y = 0; its slope gives the x at the height of the track.
    slopes = np.concatenate([np.zeros(len(track.velo)), track.strips[:, 2]])
    measured = np.concatenate([track.velo[:, 0], track.strips[:, 0]])
    return z, measured + slopes * y - x


def load_event(
    run: Path, *, sample: str | None = None, number: int | None = None, fit: str = "parkf"
) -> Event:
    """Read an event of a finished run.

    Parameters
    ----------
    run : Path
        Folder of the run.
    sample : str, optional
        ``validation_up``, say; the first validation sample by default.
    number : int, optional
        Of the event; the first that has a track by default.
    fit : str
        Which of the run's fits.

    Raises
    ------
    ParkfError
        When a file of the run is missing or broken, or has no such event.
    """
    if sample is None:
        found = sorted((run / "candidates").glob("validation_*.parquet"))
        if not found:
            raise ParkfError(f"{run / 'candidates'}: no validation sample")
        sample = found[0].stem
    candidates, number = _rows(CANDIDATES, run / f"candidates/{sample}.parquet", number)
    fitted, _ = _rows(FITTED, run / f"fitted/{fit}/{sample}.parquet", number)
    hits, _ = _rows(HITS, run / f"hits/{sample}.parquet", number)
    particles, _ = _rows(PARTICLES, run / f"particles/{sample}.parquet", number)
    if not candidates["candidate"].equals(fitted["candidate"]):
        raise ParkfError(f"{run}: candidates and fits of {sample} are not of the same rows; fit them again")
    field, polarity = FieldMap.load(run / "field.npz"), int(candidates["polarity"][0].as_py())
    start = np.column_stack([_numbers(fitted, name) for name in ("x", "y", "tx", "ty", "qop")])
    good = _numbers(fitted, "status") == 0
    fits = _paths(field, polarity, np.where(good[:, None], start, np.nan), _numbers(fitted, "z"))
    truths = _true_paths(field, polarity, candidates, particles)
    points = np.column_stack([_numbers(hits, name) for name in ("x", "y", "z", "particle")])
    middle = np.nan_to_num(points[:, 1] * _numbers(hits, "dxdy"))
    ndof, chi2 = (
        np.sum([_numbers(fitted, f"{what}_{name}") for name in ("velo", "ut", "scifi")], axis=0)
        for what in ("ndof", "chi2")
    )
    tracks = [
        _track(
            row,
            points,
            fits[:, i],
            truths[:, i],
            float(chi2[i] / max(ndof[i], 1)),
            bool(good[i]),
            start[i, 4],
        )
        for i, row in enumerate(candidates.to_pylist())
    ]
    drawn = points + np.column_stack([middle, *np.zeros((3, len(points)))])
    return Event(sample, number, drawn, tracks)


def _rows(table: Table, path: Path, number: int | None) -> tuple[pa.Table, int]:
    """Rows of one event; of the first in the file where none is asked for."""
    for rows in tables_by_event(table, path, events=1):
        event = int(rows["event"][0].as_py())
        if number is None or event == number:
            return rows.combine_chunks(), event
        if event > number:
            break
    raise ParkfError(f"{path}: no event {number if number is not None else ''}".rstrip())


def _numbers(rows: pa.Table, name: str) -> F64:
    values: F64 = numbers(rows[name]).astype(np.float64)
    return values


def _paths(field: FieldMap, polarity: int, states: F64, z: F64) -> F64:
    """Carry (n, 5) states through all planes; (planes, n, 5), NaN before they begin or where they end."""
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
    momentum = np.column_stack([_numbers(particles, name) for name in ("px", "py", "pz")])
    place = {int(key): row for row, key in enumerate(_numbers(particles, "particle"))}
    rows = np.array([place.get(int(key), -1) for key in _numbers(candidates, "particle")])
    p = np.linalg.norm(momentum, axis=1)
    states = np.column_stack(
        [
            *(_numbers(particles, name) for name in ("x", "y")),
            momentum[:, 0] / momentum[:, 2],
            momentum[:, 1] / momentum[:, 2],
            _numbers(particles, "charge") / p,
        ]
    )
    z = _numbers(particles, "z")
    known = rows >= 0
    return _paths(
        field, polarity, np.where(known[:, None], states[rows], np.nan), np.where(known, z[rows], 0.0)
    )


def _track(
    row: Mapping[str, Any], hits: F64, fit: F64, truth: F64, chi2: float, good: bool, qop: float
) -> Track:
    count = row["velo_n"]
    velo = np.column_stack([row[f"velo_{axis}"][:count] for axis in "xyz"]).astype(np.float64)
    strips = np.concatenate(
        [
            np.column_stack([row[f"{name}_{column}"] for column in ("x", "z", "dxdy", "sigma")]).astype(
                np.float64
            )
            for name in ("ut", "scifi")
        ]
    )
    strips = strips[np.isfinite(strips[:, 0])]
    own = hits[hits[:, 3] == row["particle"]]
    belongs = [bool(_close(own[:, :3] - point)) for point in velo]
    belongs += [bool(_close(own[:, [0, 2]] - point[:2])) for point in strips]
    return Track(
        number=row["candidate"],
        particle=row["particle"],
        purity=row["purity"],
        chi2=chi2,
        good=good,
        p=1e-3 / qop if qop else float("nan"),
        velo=velo,
        strips=strips,
        own=np.array(belongs, bool),
        fit=fit,
        truth=truth,
    )


def _close(differences: F64) -> bool:
    return bool((np.abs(differences) < _NEAR).all(axis=1).any()) if len(differences) else False
