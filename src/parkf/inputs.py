"""The files that a run's configuration names, looked at before anything starts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parkf.detector.alignment import load_alignment
from parkf.detector.field import FieldMap, read_source
from parkf.detector.geometry import Geometry, load_geometry
from parkf.errors import ParkfError


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

    @contextmanager
    def noted() -> Iterator[None]:
        try:
            yield
        except ParkfError as error:
            problems.append(str(error))

    geometry = alignment = field = None
    source = folder / config["field"]["source"]
    with noted():
        geometry = load_geometry(folder / config["detector"]["geometry"])
    with noted():
        alignment = load_alignment(folder / config["detector"]["alignment"])
    with noted():
        field = read_source(source)
    # mypy does not know that the blocks above take errors away.
    if geometry is not None and alignment is not None:  # type: ignore[redundant-expr]
        with noted():
            geometry.align(alignment)
    if geometry is not None and isinstance(field, FieldMap):  # type: ignore[redundant-expr]
        with noted():
            if config["field"]["outside"] == "error":
                _require_cover(source, field, geometry)
    return problems


def _require_cover(source: Path, field: FieldMap, geometry: Geometry) -> None:
    first, last = geometry.planes()[[0, -1], 0]
    begin, end = field.origin[2], field.upper[2]
    if begin > first or end < last or (field.origin[:2] > 0).any() or (field.upper[:2] < 0).any():
        raise ParkfError(
            f"{source}: the map reaches from z = {begin:g} to {end:g} mm, the detector's planes from "
            f"{first:g} to {last:g}; expected a map in mm that covers them, or field.outside: zero"
        )
