"""Options that commands share."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkf.io.documents import json_text
from parkf.io.errors import ParkfError

if TYPE_CHECKING:
    from parkf.detector.geometry import Geometry


def finite(value: float | None) -> float | None:
    """Refuse an option that is not a finite number: it lies within no limits, and outside of none."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


def _polarity(value: int) -> int:
    if value not in (-1, 1):
        raise typer.BadParameter(f"{value}, expected +1 (MagUp) or -1 (MagDown)")
    return value


def mapping(option: str, text: str | None) -> dict[str, Any]:
    """Read an option that is a JSON mapping; empty where it is not given.

    Raises
    ------
    ParkfError
        When it is none, or has a key twice.
    """
    if text is None:
        return {}
    try:
        content = json_text.parse(text)
    except ValueError as error:
        raise ParkfError(f"{option}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ParkfError(f"{option}: got {text:.40}, expected a mapping, as JSON")
    return content


GeometryFile = Annotated[Path, typer.Option("--geometry", help="Geometry file (YAML).")]
AlignmentFile = Annotated[Path, typer.Option("--alignment", help="Alignment file (YAML).")]
FieldFile = Annotated[Path, typer.Option("--field", help="Field map (.npz).")]
Polarity = Annotated[int, typer.Option("--polarity", callback=_polarity, help="+1 MagUp, -1 MagDown.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Decides every random draw.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Cores to use; results do not depend on it.")]


def aligned(geometry: Path, alignment: Path) -> "Geometry":
    """Load a geometry with its modules and layers where an alignment says they are.

    Raises
    ------
    ParkfError
        When either file is missing or wrong.
    """
    from parkf.detector.alignment import load_alignment
    from parkf.detector.geometry import load_geometry

    return load_geometry(geometry).align(load_alignment(alignment))
