"""Tracks of particles whose true momentum is known, with their hits."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.detector.frame import Floats
from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, particle_key
from parkf.io.tables import CANDIDATES, PARTICLES, VELO_SLOTS, Table

FEWEST = 50  # tracks
MOST = 2000  # tracks; more cost memory, and 600 already determine a scale to 0.02 %
_PURITY, _ELECTRON, _ETA = 0.7, 11, (2.0, 5.0)
_FEWEST_HITS = {"velo": 3, "ut": 3, "scifi": 10}


@dataclass(frozen=True)
class TrueTracks:
    """n tracks; arrays of hits hold NaN where there is no hit."""

    polarity: int  # +1 MagUp, -1 MagDown
    event: Floats  # (n,)
    charge: Floats  # (n,)
    p: Floats  # (n,) true momentum at the origin, MeV
    mass: Floats  # (n,) MeV
    velo: Floats  # (n, 26, 3): x, y, z in mm
    # (n, 16) of four UT layers, then twelve SciFi layers: x and z at y = 0, dx/dy, σ; mm
    x: Floats
    z: Floats
    dxdy: Floats
    sigma: Floats

    @property
    def count(self) -> int:
        """Number of tracks."""
        return len(self.p)

    @property
    def last_z(self) -> Floats:
        """Z (n,) of each track's last VELO hit, mm."""
        return np.asarray(np.nanmax(self.velo[..., 2], axis=1))

    def select(self, keep: NDArray[np.bool_]) -> "TrueTracks":
        """Tracks for which `keep` (n,) is true."""
        rows = {name: value[keep] for name, value in vars(self).items() if name != "polarity"}
        return TrueTracks(self.polarity, **rows)


def read_true_tracks(candidates: Path, particles: Path) -> TrueTracks:
    """Read the tracks whose hits belong to one particle that neither radiates nor decays.

    `candidates` and `particles` are files of these tables. Tracks have 2 to 100 GeV, 2 < η < 5, and hits in
    three VELO modules, three UT layers and ten SciFi layers. The first :data:`MOST` tracks are used. Fewer
    than :data:`FEWEST`, or two polarities, raise a ParkfError.
    """
    found, of = _read(CANDIDATES, candidates), _read(PARTICLES, particles)
    known, wanted = particle_key(of), particle_key(found)
    order = np.argsort(known, kind="stable")
    row = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)] if len(known) else wanted
    if not len(known) or not len(wanted):
        raise ParkfError(f"{candidates if len(known) else particles}: no row in it")
    true = {name: of[name][row] for name in ("pdg_id", "charge", "mass", "px", "py", "pz", "z_end")}
    p = np.sqrt(true["px"] ** 2 + true["py"] ** 2 + true["pz"] ** 2)
    eta = np.arctanh(true["pz"] / p)
    keep = (known[row] == wanted) & (found["purity"] >= _PURITY) & ~np.isfinite(true["z_end"])
    keep &= (np.abs(true["pdg_id"]) != _ELECTRON) & (np.abs(true["charge"]) == 1)
    keep &= (p > 2e3) & (p < 1e5) & (eta > _ETA[0]) & (eta < _ETA[1])
    for part, fewest in _FEWEST_HITS.items():
        keep &= np.isfinite(found[f"{part}_x"]).sum(axis=1) >= fewest
    rows = np.flatnonzero(keep)[:MOST]
    if len(rows) < FEWEST:
        raise ParkfError(
            f"{candidates}: {len(rows)} tracks with enough hits and a known particle of 2 to 100 GeV,"
            f" expected at least {FEWEST}; take more events"
        )
    polarities = np.unique(found["polarity"][rows])
    if len(polarities) != 1:
        raise ParkfError(f"{candidates}: tracks of MagUp and MagDown, expected one polarity; divide the file")
    hits = {name: np.concatenate([found[f"{d}_{name}"] for d in ("ut", "scifi")], axis=1) for name in _STRIP}
    used = np.arange(VELO_SLOTS) < found["velo_n"][:, None]
    velo = np.stack([np.where(used, found[f"velo_{axis}"], np.nan) for axis in "xyz"], axis=2)
    columns = {"event": found["event"], "charge": true["charge"], "p": p, "mass": true["mass"], "velo": velo}
    chosen = {name: np.asarray(values[rows], np.float64) for name, values in (columns | hits).items()}
    return TrueTracks(int(polarities[0]), **chosen)


_STRIP = ("x", "z", "dxdy", "sigma")


def _read(table: Table, path: Path) -> Columns:
    rows = table.open(path).read(columns=[name for name, _ in table.columns])
    return {name: numbers(rows[name]) for name in rows.column_names}
