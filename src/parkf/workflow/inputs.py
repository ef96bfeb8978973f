"""Checks of the files that a configuration names, before a run starts."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from parkf.detector.alignment import Alignment, load_alignment
from parkf.detector.field import DipoleSources, FieldMap, read_source
from parkf.detector.geometry import Geometry, geometry_of, load_geometry
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.io.tables import STEP_DATA
from parkf.workflow.sources import is_conditions, is_foreign_field, is_imported

T = TypeVar("T")


def input_problems(config: Mapping[str, Any], folder: Path) -> list[str]:
    """Return what is wrong with geometry, alignment and field, each alone and together.

    The configuration has passed its schema, and its files exist, relative to `folder`.
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
    """Return what is wrong with files of other runs or projects: datasets, starts, a neighbour, hits."""
    training, datasets = config["training"], config["training"]["datasets"]
    start, neighbour = training["start_from"], training.get("neighbour")
    own = datasets != "simulate" and not is_imported(datasets)
    likeness = [folder / config.get("likeness", {}).get(name, "") for name in ("hits", "tracks")]
    # Without these files, the run leaves out their page.
    read: list[tuple[Callable[[Path], object], Sequence[Path]]] = [
        (CheckedFile, [path for path in likeness if path.is_file()]),
    ]
    if own or start is not None:
        # Imported here, because most configurations name neither.
        from parkf.model.steps import FORMS
        from parkf.params.configuration import start_file

        steps = FORMS[config["forms"]].steps
        if own:
            read.append((STEP_DATA.open, [folder / datasets / f"{step}.parquet" for step in steps]))
        if start is not None:
            read.append((read_json, [start_file(folder / start, step) for step in steps]))
    if neighbour is not None:
        score = ["score.json"] if datasets == "simulate" else []
        names = ["closure/accuracy.json", "closure/closure.json", *score]
        read.append((read_json, [folder / neighbour / name for name in names]))
    return [problem for reader, paths in read if (problem := _first_problem(reader, paths))]


def _first_problem(reader: Callable[[Path], object], paths: Sequence[Path]) -> str | None:
    """Read files until one cannot be read, and return its error: the others mostly have the same one."""
    for path in paths:
        try:
            reader(path)
        except ParkfError as error:
            return str(error)
    return None


def _geometry(config: Mapping[str, str], folder: Path) -> tuple[Geometry, Alignment | None]:
    """Read a geometry; dumps contain an alignment, too."""
    place = folder / config["geometry"]
    if not place.is_dir():
        return load_geometry(place), None
    from parkf.imports.geometry.folder import read_dumps

    placed = read_dumps([place], base=folder / config["base"], tag="")
    return geometry_of(placed.geometry.description), Alignment.model_validate(placed.alignment)


def _alignment(config: Mapping[str, str], folder: Path, geometry: Geometry | None) -> Alignment | None:
    """Read an alignment of this project or of LHCb's conditions; None where dumps contain it."""
    place = folder / config["alignment"]
    if place.is_dir():
        return None
    if not is_conditions(place):
        return load_alignment(place)
    from parkf.imports.geometry.conditions import import_alignment, read_conditions

    conditions = read_conditions(place)
    if geometry is None:
        return None
    document, _ = import_alignment(conditions, geometry, tag=place.stem)
    return Alignment.model_validate(document)


def _field(declared: Mapping[str, Any], source: Path) -> FieldMap | DipoleSources:
    """Read a field, of this project or of others."""
    if not is_foreign_field(source.name):
        return read_source(source)
    from parkf.imports.field import Declared, read_field
    from parkf.imports.units import sign_of

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
