"""Checks of the files that a configuration names, before a run starts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from parkf.detector.alignment import load_alignment
from parkf.detector.field import FieldMap, read_source
from parkf.detector.geometry import Geometry, load_geometry
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.io.tables import STEP_DATA

T = TypeVar("T")


def input_problems(detector: Mapping[str, str], field: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the mistakes in geometry, alignment and field, and contradictions between them.

    `detector` and `field` are sections of a configuration that has passed its schema; their files exist,
    relative to `folder`.
    """
    problems: list[str] = []
    path = folder / field["source"]
    geometry = _attempted(problems, load_geometry, folder / detector["geometry"])
    alignment = _attempted(problems, load_alignment, folder / detector["alignment"])
    source = _attempted(problems, read_source, path)
    if geometry is not None and alignment is not None:
        _attempted(problems, geometry.align, alignment)
    if geometry is not None and isinstance(source, FieldMap) and field["outside"] == "error":
        _attempted(problems, _require_cover, path, source, geometry)
    return problems


def product_problems(config: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the mistakes in files of other runs or projects: datasets, a neighbour, hits."""
    training, datasets = config["training"], config["training"]["datasets"]
    neighbour = training.get("neighbour")
    problems: list[str] = []
    likeness = [folder / config.get("likeness", {}).get(name, "") for name in ("hits", "tracks")]
    # Without these files, the run leaves out their page.
    _attempted(problems, _read_all, CheckedFile, [path for path in likeness if path.is_file()])
    if datasets != "simulate":
        _attempted(problems, _read_all, STEP_DATA.open, sorted((folder / datasets).glob("*.parquet")))
    if neighbour is not None and not (folder / neighbour).is_dir():
        what = "no such folder; expected that of a run in training.neighbour, such as results/default"
        problems.append(f"{folder / neighbour}: {what}")
    elif neighbour is not None:
        score = ["score.json"] if datasets == "simulate" else []
        names = ["closure/accuracy.json", *score]
        _attempted(problems, _read_all, read_json, [folder / neighbour / name for name in names])
    return problems


def _attempted(problems: list[str], read: Callable[..., T], *arguments: Any) -> T | None:
    """Call a function; if it raises a ParkfError, add that to `problems` and return None."""
    try:
        return read(*arguments)
    except ParkfError as error:
        problems.append(str(error))
        return None


def _read_all(reader: Callable[[Path], object], paths: Sequence[Path]) -> None:
    """Read files until one cannot be read; the remaining files mostly have the same mistake."""
    for path in paths:
        reader(path)


def _require_cover(source: Path, field: FieldMap, geometry: Geometry) -> None:
    first, last = geometry.planes()[[0, -1], 0]
    begin, end = field.origin[2], field.upper[2]
    if begin > first or end < last or (field.origin[:2] > 0).any() or (field.upper[:2] < 0).any():
        raise ParkfError(
            f"{source}: the map reaches from z = {begin:g} to {end:g} mm, the detector's planes from "
            f"{first:g} to {last:g}; expected a map in mm that covers them, or field.outside: zero"
        )
