"""Options that commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from parkf.detector.geometry import Geometry

GeometryFile = Annotated[Path, typer.Option("--geometry", help="Geometry file (YAML).")]
AlignmentFile = Annotated[Path, typer.Option("--alignment", help="Alignment file (YAML).")]
FieldFile = Annotated[Path, typer.Option("--field", help="Field map (.npz).")]
Polarity = Annotated[int, typer.Option("--polarity", help="+1 MagUp, -1 MagDown.")]
Seed = Annotated[int, typer.Option("--seed", help="Decides every random draw.")]
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
