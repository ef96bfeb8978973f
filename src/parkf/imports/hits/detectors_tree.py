"""Trees `Hits_detectors`: an entry is a particle or a track, with vectors of its hits.

A file may lack some branches, or have them empty: z of UT hits, which is then the plane's; yMin and yMax of
UT hits, which are replaced by yBegin and yEnd; every branch of a detector without hits. dz/dy of SciFi hits
is the geometry's. An entry whose vectors of one detector have different lengths is an error. Weights are
1/σ².
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.imports.hits.entries import HIT_COLUMNS, PROPERTIES, Entries
from parkf.imports.root_files import open_tree, require_branches
from parkf.io.errors import ParkfError

TREE = "Hits_detectors"
_ENTRY = ("eventID", "key", "pid", "p", "px", "py", "pz", "ovtx_x", "ovtx_y", "ovtx_z")
_DETECTORS = {
    "Velo": ("Velo_x", "Velo_y", "Velo_z", "Velo_Module"),
    "UT": ("UT_xAtYEq0", "UT_dxDy", "UT_weight", "UT_planeCode", "UT_yBegin", "UT_yEnd"),
    "FT": ("FT_x", "FT_z", "FT_w", "FT_dxdy", "FT_hitPlaneCode", "FT_YMin", "FT_YMax"),
}
_OPTIONAL = ("UT_zAtYEq0", "UT_yMin", "UT_yMax", "isMatched")
_ROWS = 20_000
_Columns = dict[str, NDArray[Any]]
# Entries, their hits, and the ends of the strips.
_Piece = tuple[_Columns, _Columns, NDArray[Any]]


def read_tree(path: Path, geometry: Geometry) -> Entries:
    """Read a file; z of UT planes, dz/dy of SciFi planes and σ of VELO hits are the geometry's.

    Raises
    ------
    ParkfError
        When the file is damaged, lacks a branch that nothing replaces, or has vectors of different lengths.
    """
    pieces = list(_pieces(path, geometry))
    if not pieces:
        raise ParkfError(f"{path}: tree '{TREE}' has no entry")
    begin, hits = 0, []
    for of, piece, _ in pieces:
        hits.append(piece | {"entry": piece["entry"] + begin})
        begin += len(of["event"])
    properties = {name: np.concatenate([of[name] for of, _, _ in pieces]) for name in PROPERTIES}
    columns = {name: np.concatenate([piece[name] for piece in hits]) for name in HIT_COLUMNS}
    return Entries(properties, columns, np.concatenate([ends for _, _, ends in pieces])).checked(str(path))


def _pieces(path: Path, geometry: Geometry) -> Iterator[_Piece]:
    with open_tree(path, TREE) as tree:
        there = set(tree.keys())
        detectors = [name for name, branches in _DETECTORS.items() if there & set(branches)]
        needed = [*_ENTRY, *(branch for name in detectors for branch in _DETECTORS[name])]
        require_branches(tree, needed, path)
        optional = [name for name in _OPTIONAL if name in there]
        for arrays in tree.iterate([*needed, *optional], step_size=_ROWS):
            yield _piece(arrays, detectors, geometry, path)


def _piece(arrays: Any, detectors: list[str], geometry: Geometry, path: Path) -> _Piece:
    import awkward as ak

    count = len(arrays)
    of = {
        "event": ak.to_numpy(arrays["eventID"]),
        "matched": np.full(count, -1),
        **{name: ak.to_numpy(arrays[name]) for name in ("key", "pid", "p", "px", "py", "pz")},
        **{axis: ak.to_numpy(arrays[f"ovtx_{axis}"]) for axis in "xyz"},
    }
    if "isMatched" in arrays.fields:
        of["matched"] = ak.to_numpy(arrays["isMatched"]).astype(np.int64)
    parts, ends = [], []
    for name in detectors:
        branches = _DETECTORS[name]
        lengths = {branch: ak.to_numpy(ak.num(arrays[branch])) for branch in branches}
        first, expected = branches[0], lengths[branches[0]]
        for branch, length in lengths.items():
            if (length != expected).any():
                entry = int(np.argmax(length != expected))
                numbers = f"{branch} has {length[entry]} numbers, {first} {expected[entry]}"
                raise ParkfError(f"{path}: entry {entry}: {numbers}")
        flat = {branch: ak.to_numpy(ak.flatten(arrays[branch])).astype(np.float64) for branch in branches}
        owner = np.repeat(np.arange(count), expected)
        for branch in ("UT_zAtYEq0", "UT_yMin", "UT_yMax"):
            if name == "UT" and branch in arrays.fields:
                values = ak.to_numpy(ak.flatten(arrays[branch])).astype(np.float64)
                if len(values) == len(owner):
                    flat[branch] = values
        hits, span = {"Velo": _velo, "UT": _ut, "FT": _scifi}[name](flat, geometry, path)
        parts.append(hits | {"entry": owner})
        ends.append(span)
    hits = {name: np.concatenate([part[name] for part in parts]) for name in HIT_COLUMNS}
    return of, hits, np.concatenate(ends)


def _velo(flat: _Columns, geometry: Geometry, path: Path) -> tuple[_Columns, NDArray[Any]]:
    zero = np.zeros(len(flat["Velo_x"]))
    plane = _planes(flat["Velo_Module"], VELO_PLANES, path, "Velo_Module")
    hits = {"plane": plane, "dxdy": zero, "dzdy": zero, "sigma": zero + geometry.velo.resolution}
    hits |= {axis: flat[f"Velo_{axis}"] for axis in "xyz"}
    return hits, np.full((len(zero), 2), np.nan)


def _ut(flat: _Columns, geometry: Geometry, path: Path) -> tuple[_Columns, NDArray[Any]]:
    plane = _planes(flat["UT_planeCode"], UT_PLANES, path, "UT_planeCode")
    span = np.column_stack([flat.get("UT_yMin", flat["UT_yBegin"]), flat.get("UT_yMax", flat["UT_yEnd"])])
    hits = {
        "plane": plane,
        "x": flat["UT_xAtYEq0"],
        "y": span.mean(axis=1),
        "z": flat.get("UT_zAtYEq0", geometry.planes()[plane, 0]),
        "dxdy": flat["UT_dxDy"],
        "dzdy": np.zeros(len(plane)),
        "sigma": _errors(flat["UT_weight"], path, "UT_weight"),
    }
    return hits, span


def _scifi(flat: _Columns, geometry: Geometry, path: Path) -> tuple[_Columns, NDArray[Any]]:
    plane = _planes(flat["FT_hitPlaneCode"], SCIFI_PLANES, path, "FT_hitPlaneCode")
    span = np.column_stack([flat["FT_YMin"], flat["FT_YMax"]])
    hits = {
        "plane": plane,
        "x": flat["FT_x"],
        "y": span.mean(axis=1),
        "z": flat["FT_z"],
        "dxdy": flat["FT_dxdy"],
        "dzdy": geometry.planes()[plane, 2],
        "sigma": _errors(flat["FT_w"], path, "FT_w"),
    }
    return hits, span


def _planes(codes: NDArray[Any], planes: range, path: Path, branch: str) -> NDArray[np.int64]:
    wrong = ~((codes >= 0) & (codes < len(planes)) & (codes == np.rint(codes)))
    if wrong.any():
        raise ParkfError(
            f"{path}: {branch} holds {codes[np.argmax(wrong)]:g}, expected 0 to {len(planes) - 1}"
        )
    return codes.astype(np.int64) + planes.start


def _errors(weight: NDArray[Any], path: Path, branch: str) -> NDArray[np.float64]:
    if not (weight > 0).all():
        raise ParkfError(f"{path}: {branch} holds {weight[np.argmin(weight > 0)]:g}, expected 1/σ² in 1/mm²")
    return np.asarray(1.0 / np.sqrt(weight))
