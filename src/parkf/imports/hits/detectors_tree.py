"""Trees `Hits_detectors`: an entry is a particle or a track, with vectors of its hits.

Some branches may be missing or empty. A missing z of UT hits is replaced by the plane's, yMin and yMax of UT
hits by yBegin and yEnd; a detector without hits needs no branches. dz/dy of SciFi hits is the geometry's. An
entry whose vectors of one detector have different lengths is an error. Weights are 1/σ².
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.imports.hits.entries import HIT_COLUMNS, Entries
from parkf.io.checks import finite, require
from parkf.io.errors import ParkfError
from parkf.io.events import Columns
from parkf.io.root_files import chosen_tree, open_root, read_branches, require_branches, tree_names

TREE = "Hits_detectors"
_ENTRY = {"event": "eventID", **{name: name for name in ("key", "pid", "p", "px", "py", "pz")}}
_ENTRY |= {axis: f"ovtx_{axis}" for axis in "xyz"}
_DETECTORS = {
    "Velo": ("Velo_x", "Velo_y", "Velo_z", "Velo_Module"),
    "UT": ("UT_xAtYEq0", "UT_dxDy", "UT_weight", "UT_planeCode", "UT_yBegin", "UT_yEnd"),
    "FT": ("FT_x", "FT_z", "FT_w", "FT_dxdy", "FT_hitPlaneCode", "FT_YMin", "FT_YMax"),
}
_OPTIONAL = ("UT_zAtYEq0", "UT_yMin", "UT_yMax")


def read_trees(paths: Sequence[Path], geometry: Geometry, name: str | None = None) -> dict[Path, Entries]:
    """Read the tree `name` of files, by default ``Hits_detectors``; those without entries are left out."""
    found, wanted = {}, name or TREE
    for path in paths:
        with open_root(path) as file:
            # A job without a track writes a tree without entries, or none.
            if len(paths) > 1 and not any(one.rpartition("/")[2] == wanted for one in tree_names(file)):
                continue
            tree = file[chosen_tree(file, path, wanted)]
            if len(paths) == 1 or tree.num_entries:
                found[path] = _read(tree, path, geometry)
    if not found:
        raise ParkfError(f"{paths[0]}: of {len(paths)} files, none has a tree '{wanted}' with entries")
    return found


def _read(tree: Any, path: Path, geometry: Geometry) -> Entries:
    """Read a tree; z of UT planes, dz/dy of SciFi planes and σ of VELO hits are from the geometry."""
    there = set(tree.keys())
    detectors = [name for name, branches in _DETECTORS.items() if there & set(branches)]
    needed = [branch for name in detectors for branch in _DETECTORS[name]]
    require_branches(tree, [*_ENTRY.values(), *needed], path)
    if not tree.num_entries:
        raise ParkfError(f"{path}: tree '{tree.name}' has no entry")
    if not detectors:
        raise ParkfError(f"{path}: tree '{tree.name}' has no branch of hits")
    read = read_branches(tree, _ENTRY.values(), path)
    of = {name: read[branch] for name, branch in _ENTRY.items()}
    within = ("event", lambda event: event < 1 << 63, "a number of 63 bits")
    require(path, of, *finite("event", "key", "pid"), within)
    of["event"] = of["event"].astype(np.int64)
    of["matched"] = np.full(tree.num_entries, -1)
    if "isMatched" in there:
        of["matched"] = read_branches(tree, ["isMatched"], path)["isMatched"].astype(np.int64)
    parts = [_hits(tree, name, geometry, path) for name in detectors]
    hits = {name: np.concatenate([part[name] for part in parts]) for name in HIT_COLUMNS}
    return Entries(of, hits)


def _hits(tree: Any, detector: str, geometry: Geometry, path: Path) -> Columns:
    """Hits of a detector, `HIT_COLUMNS`."""
    import awkward as ak

    needed = _DETECTORS[detector]
    # Names of missing branches are left out.
    arrays = tree.arrays(filter_name=[*needed, *(_OPTIONAL if detector == "UT" else ())])
    expected = ak.to_numpy(ak.num(arrays[needed[0]]))
    for branch in needed:
        length = ak.to_numpy(ak.num(arrays[branch]))
        if (length != expected).any():
            row = int(np.argmax(length != expected))
            numbers = f"{branch} has {length[row]} numbers, {needed[0]} {expected[row]}"
            raise ParkfError(f"{path}: entry {row}: {numbers}")
    flat = {name: ak.to_numpy(ak.flatten(arrays[name])).astype(np.float64) for name in arrays.fields}
    entry, planes = np.repeat(np.arange(len(arrays)), expected), geometry.planes()
    # Optional branches may be empty.
    flat = {name: values for name, values in flat.items() if len(values) == len(entry)}
    zero, begin, end = np.zeros(len(entry)), np.full(len(entry), np.nan), np.full(len(entry), np.nan)
    if detector == "Velo":
        plane, sigma = _planes(flat, "Velo_Module", VELO_PLANES, path), zero + geometry.velo.resolution
        x, y, z, dxdy, dzdy = flat["Velo_x"], flat["Velo_y"], flat["Velo_z"], zero, zero
    elif detector == "UT":
        plane, sigma = _planes(flat, "UT_planeCode", UT_PLANES, path), _errors(flat, "UT_weight")
        begin, end = flat.get("UT_yMin", flat["UT_yBegin"]), flat.get("UT_yMax", flat["UT_yEnd"])
        z = flat.get("UT_zAtYEq0", planes[plane, 0])
        x, y, dxdy, dzdy = flat["UT_xAtYEq0"], 0.5 * (begin + end), flat["UT_dxDy"], zero
    else:
        plane, sigma = _planes(flat, "FT_hitPlaneCode", SCIFI_PLANES, path), _errors(flat, "FT_w")
        begin, end = flat["FT_YMin"], flat["FT_YMax"]
        x, y, z = flat["FT_x"], 0.5 * (begin + end), flat["FT_z"]
        dxdy, dzdy = flat["FT_dxdy"], planes[plane, 2]
    columns = (entry, plane, x, y, z, dxdy, dzdy, sigma, begin, end)
    return dict(zip(HIT_COLUMNS, columns, strict=True))


def _planes(flat: Columns, branch: str, planes: range, path: Path) -> NDArray[np.int64]:
    require(path, flat, (branch, lambda codes: np.isin(codes, range(len(planes))), f"0 to {len(planes) - 1}"))
    return flat[branch].astype(np.int64) + planes.start


def _errors(flat: Columns, branch: str) -> NDArray[np.float64]:
    """σ in mm; NaN where a weight is not above 0, which :mod:`parkf.imports.hits.sift` names."""
    weight = np.where(flat[branch] > 0, flat[branch], np.nan)
    return np.asarray(1.0 / np.sqrt(weight))
