"""Hits and particles of another simulation, such as LHCb's, converted to this project's tables.

The two Parquet files must hold, in mm and MeV:

- hits, a row for each hit and particle that made it: `event`, `key` of the particle or -1, `det` (VELO, UT
  or SciFi), `layer` (VELO module 0-51, UT 0-3, SciFi 0-11), `x`, `y`, `z`, `dxdy`, `dzdy`, `ymin`, `ymax`,
  `err`. A VELO hit is a point; UT and SciFi hits are lines x + dxdy·y, z + dzdy·y for ymin < y < ymax.
- tracks: `event`, `key`, `pid`, `charge`, `p`, `eta`, `phi` at the origin `ovtx_x`, `ovtx_y`, `ovtx_z`, and
  `mother_pid`, -999999 where there is none.
- tracks may have `mother_key`, the mother's key in the same event, or NaN where there is none. The mother
  need not be among the tracks. With `mother_key`, decays of charged pions and kaons behind the UT are treated
  as in the embedded simulation (`parkf.simulation.response.in_flight`): the mother ends at the decay, and the
  product's hits count as hits of the mother.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.imports.hits.entries import HIT_COLUMNS, Entries
from parkf.imports.hits.particle_data import masses
from parkf.io.checks import MOMENTUM, Z_OF_HITS, Rule, finite, require, require_units, within
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError, few
from parkf.io.events import Columns
from parkf.io.files import existing
from parkf.simulation.generate.interactions import Z_END
from parkf.simulation.particles import ELECTRON, KAON, MUON, PION
from parkf.simulation.response.in_flight import BEHIND

_OF_HITS = ("event", "key", "det", "layer", "x", "y", "z", "dxdy", "dzdy", "ymin", "ymax", "err")
_OF_TRACKS = ("event", "key", "pid", "charge", "p", "eta", "phi", "ovtx_x", "ovtx_y", "ovtx_z", "mother_pid")
_PLANES = {"VELO": VELO_PLANES, "UT": UT_PLANES, "SciFi": SCIFI_PLANES}
_LIMITS: tuple[Rule, ...] = (
    *((name, within(-2e4, 2e4), "mm, within ±20000") for name in "xyz"),
    *((name, within(-1.0, 1.0), "a slope, within ±1") for name in ("dxdy", "dzdy")),
    ("sigma", lambda sigma: (sigma > 0.0) & (sigma <= 100.0), "mm, above 0 and at most 100"),
)


def read_tables(hits: Path, tracks: Path) -> Entries:
    """Read hits and particles.

    A hit of several particles has a row for each of them, but a mother and her product share one row. Every
    hit's particle must be among the tracks.
    """
    read_hits, read_tracks = _read(hits, _OF_HITS), _read(tracks, _OF_TRACKS, ("mother_key",))
    known = pd.MultiIndex.from_frame(read_tracks[["event", "key"]])
    if known.has_duplicates:
        raise ParkfError(f"{tracks}: (event, key) {known[known.duplicated()][0]} occurs twice")
    owned = read_hits[read_hits.key >= 0]
    stray = ~pd.MultiIndex.from_frame(owned[["event", "key"]]).isin(known)
    if stray.any():
        row = owned[stray].iloc[0]
        raise ParkfError(
            f"{hits}: row {row.name}: particle (event {row.event}, key {row.key}) not in {tracks}"
        )
    found, particles = _hits(read_hits, hits), _particles(read_tracks, tracks)
    if "mother_key" in read_tracks:
        product, mother = _decays_behind_ut(read_tracks)
        np.minimum.at(particles["z_end"], mother, particles["z"][product])
        found = _as_mothers(found, particles, product, mother)
    return _entries(found, particles)


def _entries(hits: Columns, particles: Columns) -> Entries:
    """Put hits and particles together; hits of no particle belong to an entry of their event."""
    free = hits["particle"] < 0
    noise = np.unique(hits["event"][free])
    known, wanted = (pd.MultiIndex.from_arrays([of["event"], of["particle"]]) for of in (particles, hits))
    entry = np.where(free, len(known) + np.searchsorted(noise, hits["event"]), known.get_indexer(wanted))
    of = {name: np.append(values, np.zeros(len(noise), values.dtype)) for name, values in particles.items()}
    of["event"][len(known) :] = noise
    of |= {"key": of.pop("particle"), "pid": of.pop("pdg_id"), "matched": np.full(len(of["event"]), -1)}
    p = np.sqrt(of["px"] ** 2 + of["py"] ** 2 + of["pz"] ** 2)
    of["p"] = np.where(np.arange(len(p)) < len(known), p, -1.0)
    ends = dict.fromkeys(("y_begin", "y_end"), np.full(len(entry), np.nan))
    return Entries(of, {"entry": entry, **{name: hits[name] for name in HIT_COLUMNS if name in hits}, **ends})


def _read(path: Path, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read columns of a Parquet file; all but ``det`` must hold numbers."""
    with CheckedFile(existing(path)) as file:
        there = file.schema_arrow.names
        if missing := [name for name in columns if name not in there]:
            expected = f"it has {few(there)}, expected {', '.join(columns)}"
            raise ParkfError(f"{path}: column '{missing[0]}' is missing; {expected}; rename or add columns")
        frame = file.read(columns=[name for name in (*columns, *optional) if name in there]).to_pandas()
    for name in frame.columns.drop("det", errors="ignore"):
        if frame[name].dtype.kind not in "iuf":
            raise ParkfError(f"{path}: column '{name}' holds text, expected numbers; convert it")
    require(path, {name: frame[name].to_numpy(float) for name in ("event", "key")}, *finite("event", "key"))
    return frame


def _hits(hits: pd.DataFrame, path: Path) -> Columns:
    plane = np.full(len(hits), -1)
    for name, planes in _PLANES.items():
        rows = (hits.det == name) & (hits.layer >= 0) & (hits.layer < len(planes))
        plane[rows] = hits.layer[rows] + planes.start
    if (plane < 0).any():
        row = hits.iloc[np.argmax(plane < 0)]
        raise ParkfError(
            f"{path}: row {row.name}: detector '{row.det}', layer {row.layer} is unknown;"
            f" expected one of {', '.join(_PLANES)}, with its layers: correct the row"
        )
    point = plane < VELO_PLANES.stop
    columns = {
        "event": hits.event.to_numpy(),
        "plane": plane,
        "particle": hits.key.to_numpy(),
        "x": hits.x.to_numpy(),
        "y": np.where(point, hits.y, 0.5 * (hits.ymin + hits.ymax)),
        "z": hits.z.to_numpy(),
        "dxdy": np.where(point, 0.0, hits.dxdy),
        "dzdy": np.where(point, 0.0, hits.dzdy),
        "sigma": hits.err.to_numpy(),
    }
    require(path, columns, *finite(*columns), *_LIMITS)
    for name, unit in Z_OF_HITS.items():
        require_units(path, {"z": columns["z"][(hits.det == name).to_numpy()]}, {"z": unit})
    return columns


def _particles(tracks: pd.DataFrame, path: Path) -> Columns:
    p, transverse = tracks.p.to_numpy(), tracks.p.to_numpy() / np.cosh(tracks.eta.to_numpy())
    columns = {
        "event": tracks.event.to_numpy(),
        "particle": tracks.key.to_numpy(),
        "pdg_id": tracks.pid.to_numpy(),
        "mother": tracks.mother_pid.replace(-999999, 0).to_numpy(),
        "charge": tracks.charge.to_numpy(),
        "mass": masses(tracks.pid.to_numpy()),
        **{name: tracks[f"ovtx_{name}"].to_numpy() for name in "xyz"},
        "px": transverse * np.cos(tracks.phi.to_numpy()),
        "py": transverse * np.sin(tracks.phi.to_numpy()),
        "pz": p * np.tanh(tracks.eta.to_numpy()),
    }
    require(path, columns, *finite(*columns))
    require_units(path, {"p": p}, {"p": MOMENTUM})
    require(path, {"p": p}, ("p", lambda p: p > 0, "MeV, above 0"))
    # The file has no end points of particles; `read_tables` sets those of mothers.
    return columns | {"z_end": np.full(len(tracks), np.inf)}


def _decays_behind_ut(tracks: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the products of pions and kaons that decayed behind the UT, (m,), and of their mothers, (m,).

    A muon from a pion or kaon counts. A charged pion from a kaon counts if electrons are the only other
    charged particles from its vertex; otherwise the kaon struck matter.
    """
    own, theirs = (
        pd.MultiIndex.from_frame(tracks[["event", name]].astype(np.float64)) for name in ("key", "mother_key")
    )
    mother = own.get_indexer(theirs)
    kind, charge, z = np.abs(tracks.pid.to_numpy()), tracks.charge.to_numpy(), tracks.ovtx_z.to_numpy()
    of = np.where(mother < 0, 0, kind[mother])
    heavy = tracks[(kind != ELECTRON) & (charge != 0)]
    shared = heavy.index[heavy.duplicated(["event", "mother_key", "ovtx_z"], keep=False)]
    alone = ~tracks.index.isin(shared)
    to_muon = (kind == MUON) & np.isin(of, (PION, KAON))
    to_pion = (kind == PION) & (of == KAON) & alone
    behind = (z > Z_END) & (z < BEHIND)
    product = np.flatnonzero((to_muon | to_pion) & behind & (charge == charge[mother]))
    return product, mother[product]


def _as_mothers(hits: Columns, particles: Columns, product: np.ndarray, mother: np.ndarray) -> Columns:
    """Assign hits of products to their mothers; a hit of both has one row."""
    first = np.arange(len(particles["particle"]))
    first[product] = mother
    first = first[first]  # a kaon's pion may decay, too
    known, owner = (pd.MultiIndex.from_arrays([of["event"], of["particle"]]) for of in (particles, hits))
    row = known.get_indexer(owner)
    renamed = pd.DataFrame(hits)
    renamed["particle"] = np.where(row < 0, hits["particle"], particles["particle"][first[row]])
    mothers = np.isin(row, product) | np.isin(row, mother)
    return {name: renamed[name].to_numpy()[~(mothers & renamed.duplicated())] for name in hits}
