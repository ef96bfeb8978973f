"""The files that a run's configuration names, looked at before anything starts."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from parkf.detector.alignment import Alignment, load_alignment
from parkf.detector.field import DipoleSources, FieldMap, read_source
from parkf.detector.geometry import Geometry, geometry_of, load_geometry
from parkf.errors import ParkfError
from parkf.files import existing, read_json
from parkf.sealing import CheckedFile
from parkf.tables import STEP_DATA
from parkf.workflow import STEPS, is_conditions, is_foreign_field, is_imported, start_file

T = TypeVar("T")


def input_problems(config: Mapping[str, Any], folder: Path) -> list[str]:
    """Find what is wrong with geometry, alignment and field, each alone and together.

    Parameters
    ----------
    config : mapping
        Of a run, checked against its schema; the files that it names are there.
    folder : Path
        Where the run takes place; input paths are relative to it.
    """
    problems: list[str] = []

    def attempted(read: Callable[[], T]) -> T | None:
        try:
            return read()
        except ParkfError as error:
            problems.append(str(error))
            return None

    source = folder / config["field"]["source"]
    declared = config["field"]
    geometry, alignment = attempted(lambda: _geometry(config["detector"], folder)) or (None, None)
    on_top = attempted(lambda: _alignment(config["detector"], folder, geometry)) or alignment
    field = attempted(lambda: _field(declared, source))
    if geometry is not None and on_top is not None:
        placed, moved = geometry, on_top
        attempted(lambda: placed.align(moved))
    if geometry is not None and isinstance(field, FieldMap) and config["field"]["outside"] == "error":
        seen, map_ = geometry, field
        attempted(lambda: _require_cover(source, map_, seen))
    return problems


def product_problems(config: Mapping[str, Any], folder: Path) -> list[str]:
    """Find what is wrong with what others made for a run: datasets, starts, a neighbour, another simulation.

    Parameters
    ----------
    config : mapping
        Of a run, checked against its schema.
    folder : Path
        Where the run takes place.
    """
    training = config["training"]
    checks: list[Callable[[], object]] = []
    if training["datasets"] != "simulate" and not is_imported(training["datasets"]):
        paths = [folder / training["datasets"] / f"{step}.parquet" for step in STEPS]
        checks += [partial(STEP_DATA.open, path) for path in paths]
    if training["start_from"] is not None:
        starts = {start_file(folder / training["start_from"], step) for step in STEPS}
        checks += [partial(read_json, path) for path in sorted(starts)]
    if "neighbour" in training:
        closed = [
            folder / training["neighbour"] / "closure" / name for name in ("accuracy.json", "closure.json")
        ]
        checks += [partial(read_json, path) for path in closed]
        checks.append(partial(existing, folder / training["neighbour"] / "closure/table.npz"))
        if training["datasets"] == "simulate":
            checks.append(partial(read_json, folder / training["neighbour"] / "score.json"))
    for name in ("hits", "tracks"):
        path = folder / config.get("likeness", {}).get(name, "")
        # Where it is not there, its page is left out.
        if path.is_file():
            checks.append(partial(CheckedFile, path))
    problems = []
    for check in checks:
        try:
            check()
        except ParkfError as error:
            problems.append(str(error))
    return problems


def _geometry(config: Mapping[str, str], folder: Path) -> tuple[Geometry, Alignment | None]:
    """Read a geometry, and what dumps have on top of it."""
    place = folder / config["geometry"]
    if not place.is_dir():
        return load_geometry(place), None
    from parkf.importing.geometry.folder import read_dumps

    placed = read_dumps([place], base=folder / config["base"], tag="")
    return geometry_of(placed.geometry.description), Alignment.model_validate(placed.alignment)


def _alignment(config: Mapping[str, str], folder: Path, geometry: Geometry | None) -> Alignment | None:
    """Read an alignment, of this project or of LHCb's conditions; None where it is that of dumps."""
    place = folder / config["alignment"]
    if place.is_dir():
        return None
    if not is_conditions(place):
        return load_alignment(place)
    from parkf.importing.geometry.conditions import import_alignment, read_conditions

    conditions = read_conditions(place)
    if geometry is None:
        return None
    return Alignment.model_validate(import_alignment(conditions, geometry, tag=place.stem).alignment)


def _field(declared: Mapping[str, Any], source: Path) -> FieldMap | DipoleSources:
    """Read a field, of this project or of others."""
    if not is_foreign_field(source.name):
        return read_source(source)
    from parkf.importing.field import Declared, read_field
    from parkf.importing.polarity import sign_of

    said = Declared(
        length=declared.get("length"),
        field=declared.get("unit"),
        symmetry=declared.get("symmetry", "none"),
        polarity=sign_of(declared.get("polarity", "down")),
        tree=declared.get("tree"),
    )
    return read_field(str(source), said)


def _require_cover(source: Path, field: FieldMap, geometry: Geometry) -> None:
    first, last = geometry.planes()[[0, -1], 0]
    begin, end = field.origin[2], field.upper[2]
    if begin > first or end < last or (field.origin[:2] > 0).any() or (field.upper[:2] < 0).any():
        raise ParkfError(
            f"{source}: the map reaches from z = {begin:g} to {end:g} mm, the detector's planes from "
            f"{first:g} to {last:g}; expected a map in mm that covers them, or field.outside: zero"
        )
