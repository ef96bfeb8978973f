"""Arguments and options that several commands have, and groups of them that many commands have together."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkf.io.documents import json_text
from parkf.io.errors import ParkfError
from parkf.io.option_types import FormsName, Interpolation, Outside

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap
    from parkf.detector.geometry import Geometry
    from parkf.params.parameter_set import ParameterSet
    from parkf.params.registry import Registry

GATES = Path("workflow/config/gates.yaml")


def finite(value: float | None) -> float | None:
    """Refuse NaN and infinity, which pass the limits of an option."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


def _polarity(value: int) -> int:
    if value not in (-1, 1):
        raise typer.BadParameter(f"{value}, expected +1 (MagUp) or -1 (MagDown)")
    return value


def _published(incomplete: str) -> list[str]:
    """Return the published versions that begin so, for the shell's completion."""
    return [version for version in registry_in(None).versions() if version.startswith(incomplete)]


GeometryFile = Annotated[Path, typer.Option("--geometry", help="Geometry file (YAML).")]
AlignmentFile = Annotated[Path, typer.Option("--alignment", help="Alignment file (YAML).")]
FieldFile = Annotated[Path, typer.Option("--field", help="Field map (.npz).")]
Polarity = Annotated[int, typer.Option("--polarity", callback=_polarity, help="+1 MagUp, -1 MagDown.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Decides every random draw.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Cores to use; results do not depend on it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
OutsideMap = Annotated[Outside, typer.Option("--outside", help="Look-up outside the map.")]
BetweenNodes = Annotated[Interpolation, typer.Option("--interpolation", help="Between the nodes.")]
FormsOfSet = Annotated[FormsName, typer.Option("--forms", help="Set of forms.")]
RunFolder = Annotated[Path, typer.Argument(help="Folder of a run.")]
SetFolder = Annotated[Path, typer.Argument(metavar="SET", help="A set's folder.")]
GatesFile = Annotated[Path, typer.Option("--gates", help="Thresholds, each with its reason.")]
Schemas = Annotated[Path, typer.Option(help="Folder of the schemas.")]
Set = Annotated[
    str,
    typer.Argument(
        metavar="SET", help="Version in the registry, or a set's folder.", autocompletion=_published
    ),
]
RegistryFolder = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        help="Folder of published sets; params/ here by default, or else the sets that parkf ships.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class AlignedGeometry:
    """Options that describe where the detector is."""

    geometry: GeometryFile
    alignment: AlignmentFile

    def aligned(self) -> "Geometry":
        """Load the geometry, with its modules and layers where the alignment has them."""
        return aligned(self.geometry, self.alignment)


@dataclass(frozen=True)
class Detector(AlignedGeometry):
    """Options that describe the detector and its field."""

    field: FieldFile

    def field_map(self) -> "FieldMap":
        """Load the field map."""
        from parkf.detector.field import FieldMap

        return FieldMap.load(self.field)


@dataclass(frozen=True)
class TrainedSteps(Detector):
    """Options of a set before its magnet table is closed."""

    fits: Annotated[Path, typer.Option(help="Folder of the fits of all steps.")]
    table: Annotated[Path, typer.Option(help="Magnet table that they were fitted with.")]
    seed: Seed
    configuration: Annotated[
        str | None, typer.Option(help="Keys of the run's configuration, as JSON, for noise and manifest.")
    ] = None

    def assemble(self, **more: Any) -> "ParameterSet":
        """Make the set; `more` is for :func:`parkf.training.assembly.assemble`."""
        from parkf.training.assembly import Ingredients, assemble

        files = Ingredients(self.fits, self.table, self.geometry, self.alignment, self.field)
        given = None if self.configuration is None else mapping("--configuration", self.configuration)
        return assemble(files, seed=self.seed, configuration=given, **more)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let Typer show the fields of each argument that is a dataclass as options of the command."""
    given: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        group: type = parameter.annotation
        if is_dataclass(group):
            fields = inspect.signature(group).parameters
            groups[name] = (group, list(fields))
            given += fields.values()
        else:
            given.append(parameter)

    def run(**values: Any) -> None:
        for name, (group, fields) in groups.items():
            values[name] = group(**{field: values.pop(field) for field in fields})
        command(**values)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__annotations__ = {one.name: one.annotation for one in given}
    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in given]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return run


def aligned(geometry: Path, alignment: Path | None) -> "Geometry":
    """Load a geometry, with its modules and layers where the alignment has them.

    Raises
    ------
    ParkfError
        When either file is missing or wrong.
    """
    from parkf.detector.alignment import load_alignment
    from parkf.detector.geometry import load_geometry

    nominal = load_geometry(geometry)
    return nominal if alignment is None else nominal.align(load_alignment(alignment))


def registry_in(folder: Path | None) -> "Registry":
    """Return the registry of a folder; by default the one that sets are read from."""
    from parkf.params.registry import Registry, readable_registry

    return readable_registry() if folder is None else Registry(folder)


def mapping(option: str, text: str | None) -> dict[str, Any]:
    """Read the JSON mapping of an option; empty where the option is missing.

    Raises
    ------
    ParkfError
        When it is no mapping, or has a key twice.
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
