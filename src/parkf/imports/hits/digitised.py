"""CSV of digitised simulation: a folder with hits.csv, particles.csv and vertices.csv.

- hits.csv: evt, det (VELO or VP, UT, FT or SciFi), mc_key, pid, entry_x … exit_z in mm. The columns
  energy_MeV, time_ns, path_mm and sensDetID are not used. A hit lies midway between entry and exit, on the
  plane of the geometry that is nearest in z; its σ is from the geometry.
- particles.csv: evt, mc_key, pid, px, py, pz in MeV, vtx_key of the vertex that it comes from.
- vertices.csv: evt, vtx_key, x, y, z in mm.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.imports.columns import read_frame
from parkf.imports.hits.entries import Entries
from parkf.io.checks import finite, require
from parkf.io.errors import ParkfError
from parkf.io.events import Columns

_ENDS = ("entry_x", "entry_y", "entry_z", "exit_x", "exit_y", "exit_z")
_COLUMNS = {
    "hits": ("evt", "det", "mc_key", "pid", *_ENDS),
    "particles": ("evt", "mc_key", "pid", "px", "py", "pz", "vtx_key"),
    "vertices": ("evt", "vtx_key", "x", "y", "z"),
}
_PLANES = {"VELO": VELO_PLANES, "VP": VELO_PLANES, "UT": UT_PLANES, "FT": SCIFI_PLANES, "SciFi": SCIFI_PLANES}
_FAR = 20.0  # mm; no sensor lies further from its plane


def read_csv_folder(folder: Path, geometry: Geometry) -> Entries:
    """Read the three files; every hit must have a particle and a plane, and every particle a vertex."""
    hits, particles, vertices = (_read(folder / f"{name}.csv", columns) for name, columns in _COLUMNS.items())
    where = particles.merge(vertices, on=["evt", "vtx_key"], how="left", validate="many_to_one")
    if where.z.isna().any():
        row = int(np.argmax(where.z.isna()))
        vertex = f"vertex {where.vtx_key[row]} of event {where.evt[row]}"
        raise ParkfError(f"{folder / 'particles.csv'}: row {row}: {vertex} is not in vertices.csv")
    known = pd.MultiIndex.from_frame(particles[["evt", "mc_key"]])
    if known.has_duplicates:
        raise ParkfError(f"{folder / 'particles.csv'}: {known[known.duplicated()][0]} is there twice")
    owner = known.get_indexer(pd.MultiIndex.from_frame(hits[["evt", "mc_key"]]))
    if (owner < 0).any():
        row = int(np.argmax(owner < 0))
        particle = f"particle {hits.mc_key[row]} of event {hits.evt[row]}"
        raise ParkfError(f"{folder / 'hits.csv'}: row {row}: {particle} is not in particles.csv")
    of = {
        "event": particles.evt.to_numpy(),
        "key": particles.mc_key.to_numpy(),
        "pid": particles.pid.to_numpy(),
        "p": np.sqrt(np.asarray(particles.px**2 + particles.py**2 + particles.pz**2)),
        **{name: particles[name].to_numpy() for name in ("px", "py", "pz")},
        **{name: np.asarray(where[name]) for name in "xyz"},
        "matched": np.full(len(particles), -1),
    }
    found = _hits(hits, geometry, folder / "hits.csv") | {"entry": owner}
    return Entries(of, found, measured=False)


def _read(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    frame = read_frame(path, columns)
    numbers = [name for name in columns if name != "det"]
    require(path, {name: frame[name].to_numpy() for name in numbers}, *finite(*numbers))
    return frame


def _hits(hits: pd.DataFrame, geometry: Geometry, path: Path) -> Columns:
    middle = {axis: 0.5 * (hits[f"entry_{axis}"] + hits[f"exit_{axis}"]).to_numpy() for axis in "xyz"}
    planes = geometry.planes()
    plane = np.full(len(hits), -1)
    for name, numbers in _PLANES.items():
        rows = np.flatnonzero((hits.det == name).to_numpy())
        x, y, z = (middle[axis][rows, None] for axis in "xyz")
        z0, dzdx, dzdy = planes[numbers.start : numbers.stop].T
        distance = np.abs(z - (z0 + dzdx * x + dzdy * y))
        plane[rows] = np.where(distance.min(axis=1) < _FAR, distance.argmin(axis=1) + numbers.start, -2)
    if (plane == -1).any():
        row = int(np.argmax(plane == -1))
        raise ParkfError(f"{path}: row {row}: detector '{hits.det[row]}', expected {', '.join(_PLANES)}")
    if (far := plane == -2).any():
        row, share = int(np.argmax(far)), 100 * float(far.mean())
        raise ParkfError(
            f"{path}: row {row}: z = {middle['z'][row]:g} mm is no plane of {hits.det[row]} within {_FAR:g} "
            f"mm; so are {share:.0f} % of the hits: another unit, or another detector than the geometry"
        )
    point = plane < VELO_PLANES.stop
    slopes = np.zeros(len(planes))
    for number in (*UT_PLANES, *SCIFI_PLANES):
        slopes[number] = geometry.strip_slope(number)
    dxdy, lean = slopes[plane], np.where(point, 0.0, planes[plane, 2])
    return {
        "plane": plane,
        "x": np.where(point, middle["x"], middle["x"] - dxdy * middle["y"]),
        "y": middle["y"],
        "z": np.where(point, middle["z"], middle["z"] - lean * middle["y"]),
        "dxdy": dxdy,
        "dzdy": lean,
        "sigma": _sigma(geometry, plane, middle),
        **dict.fromkeys(("y_begin", "y_end"), np.full(len(hits), np.nan)),
    }


def _sigma(geometry: Geometry, plane: NDArray[Any], middle: Columns) -> NDArray[np.float64]:
    """σ in mm: the VELO's resolution, pitch/√12 in the hit's UT zone, and that of the best SciFi clusters."""
    x, y, zones = np.abs(middle["x"]), np.abs(middle["y"]), geometry.ut.zones
    inside = [(x < zone.half_width) & (y < zone.half_height) for zone in zones]
    sigma = np.select(inside, [zone.sigma for zone in zones], zones[-1].sigma)
    sigma[plane < UT_PLANES.start] = geometry.velo.resolution
    sigma[plane >= SCIFI_PLANES.start] = geometry.scifi.cluster_errors[0]
    return sigma
