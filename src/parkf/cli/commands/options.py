"""Arguments and options of several commands, groups of options, and the objects that options name."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, BadParameter, Option

from parkf.io.documents import json_text
from parkf.io.errors import ParkfError
from parkf.io.option_types import FormsName, Interpolation, Outside

if TYPE_CHECKING:
    from parkf.detector.field import FieldMap
    from parkf.detector.geometry import Geometry
    from parkf.params.parameter_set import ParameterSet
    from parkf.params.registry import Registry

GATES = Path("workflow/config/gates.yaml")
# Arguments and options that commands write to.
OUTPUTS = {"output", "to"}


def finite(value: float | None) -> float | None:
    """Refuse NaN and infinity, which pass the limits of an option."""
    if value is not None and not math.isfinite(value):
        raise BadParameter(f"{value} is not a finite number")
    return value


def _polarity(value: int) -> int:
    if value not in (-1, 1):
        raise BadParameter(f"{value}, expected +1 (MagUp) or -1 (MagDown)")
    return value


def _published(incomplete: str) -> list[str]:
    """Return the published versions that begin with the given text, for the shell's completion."""
    return [version for version in registry_in(None).names() if version.startswith(incomplete)]


Particles = Annotated[Path, Argument(help="Particles (.parquet).")]
Hits = Annotated[Path, Argument(help="Hits (.parquet).")]
States = Annotated[Path, Argument(help="True states of the particles (.parquet).")]
Candidates = Annotated[Path, Argument(help="Track candidates (.parquet).")]
FittedTracks = Annotated[Path, Argument(help="Fitted tracks to write (.parquet).")]
Step = Annotated[str, Argument(help="Name of the step: V, VUT, UT, UTTF, TFT, T or BEAM.")]
Dataset = Annotated[Path, Argument(help="Dataset of this step (.parquet).")]
GeometryFile = Annotated[Path, Option("--geometry", help="Geometry file (YAML).")]
AlignmentFile = Annotated[Path, Option("--alignment", help="Alignment file (YAML).")]
FieldFile = Annotated[Path, Option("--field", help="Field map (.npz).")]
Polarity = Annotated[int, Option("--polarity", callback=_polarity, help="+1 MagUp, -1 MagDown.")]
TrackKind = Annotated[
    str,
    Option(
        "--kind",
        help="Kind of tracks: long, upstream (VELO, UT), downstream (UT, SciFi), scifi (SciFi alone).",
    ),
]
Seed = Annotated[int, Option("--seed", min=0, max=2**63 - 1, help="Seed of all random draws.")]
Threads = Annotated[int, Option("--threads", min=1, help="Number of cores; results do not depend on it.")]
Json = Annotated[bool, Option("--json", help="Print JSON, for other programs.")]
OutsideMap = Annotated[Outside, Option("--outside", help="Result of a look-up outside the map.")]
Between = Annotated[Interpolation, Option("--interpolation", help="Interpolation between the nodes.")]
FormsOfSet = Annotated[FormsName, Option("--forms", help="Set of forms.")]
RunFolder = Annotated[Path, Argument(help="Folder of a run.")]
SetFolder = Annotated[Path, Argument(metavar="SET", help="A set's folder.")]
GatesFile = Annotated[Path, Option("--gates", help="File of thresholds, each with its reason.")]
Set = Annotated[str, Argument(metavar="SET", help="Version or folder of a set.", autocompletion=_published)]
_REGISTRY_HELP = "Folder of published sets; by default params/ here, then the sets that parkf ships."
Withdrawn = Annotated[
    bool, Option("--withdrawn", help="Use the set even if it was withdrawn, to repeat old results.")
]
RegistryFolder = Annotated[Path | None, Option("--registry", help=_REGISTRY_HELP)]


def aligned(geometry: Path, alignment: Path | None = None) -> "Geometry":
    """Load a geometry, with its modules and layers where the alignment has them."""
    from parkf.detector.alignment import load_alignment
    from parkf.detector.geometry import load_geometry

    nominal = load_geometry(geometry)
    return nominal if alignment is None else nominal.align(load_alignment(alignment))


def field_map(path: Path) -> "FieldMap":
    """Load a field map; a ParkfError reports one that is not LHCb's magnet in mm and T."""
    from parkf.detector.field import FieldMap, check_magnet

    field = FieldMap.load(path)
    check_magnet(field, path)
    return field


def registry_in(folder: Path | None) -> "Registry":
    """Return the registry in a folder; by default the registry that sets are read from."""
    from parkf.params.registry import Registry, readable_registry

    return readable_registry() if folder is None else Registry(folder)


def file_pairs(one: str, other: str) -> list[tuple[Path, Path]]:
    """Pair the files of two lists, whose names are separated by blanks."""
    return [(Path(a), Path(b)) for a, b in zip(one.split(), other.split(), strict=True)]


def mapping(option: str, text: str | None) -> dict[str, Any]:
    """Read an option as a JSON mapping without repeated keys; it is empty if the option is missing."""
    if text is None:
        return {}
    try:
        content = json_text.parse(text)
    except ValueError as error:
        raise ParkfError(f"{option}: not JSON: {error}; expected a mapping: correct it there") from error
    if not isinstance(content, dict):
        raise ParkfError(f"{option}: got {text:.40}, expected a mapping, as JSON; write {{...}}")
    return content


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let Typer show the fields of each argument that is a dataclass as options of the command."""
    shown: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            shown += inspect.signature(groups[name]).parameters.values()
        else:
            shown.append(parameter)

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__annotations__ = {one.name: one.annotation for one in shown}
    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in shown]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return run


@dataclass(frozen=True)
class Detector:
    """Options that describe the detector and its field."""

    geometry: GeometryFile
    alignment: AlignmentFile
    field: FieldFile

    def load(self) -> "tuple[Geometry, FieldMap]":
        """Load the geometry, with its modules and layers where the alignment has them, and the field map."""
        return aligned(self.geometry, self.alignment), field_map(self.field)

    def metadata(self, polarity: int) -> dict[str, str]:
        """Return what a table of candidates records about this detector."""
        from parkf.io.fingerprints.detector import detector_metadata

        return detector_metadata(self.geometry, self.alignment, self.field, polarity)


@dataclass(frozen=True)
class TrainedSteps(Detector):
    """Options that describe a set before its magnet table is closed."""

    fits: Annotated[Path, Option(help="Folder of the fits of all steps.")]
    table: Annotated[Path, Option(help="Magnet table that the steps were fitted with.")]
    seed: Seed
    configuration: Annotated[str | None, Option(help="Keys for noise and manifest (JSON).")] = None

    def assemble(self, **more: Any) -> "ParameterSet":
        """Make the set; `more` is for :func:`parkf.training.assembly.assemble`."""
        from parkf.training.assembly import assemble

        files = self.fits, self.table, self.geometry, self.alignment, self.field
        given = None if self.configuration is None else mapping("--configuration", self.configuration)
        return assemble(*files, seed=self.seed, configuration=given, **more)


def check_outputs(command: Any, name: str = "parkf") -> None:
    """Let a command and its subcommands refuse an output that is an input, or has no folder."""
    for below, one in getattr(command, "commands", {}).items():
        check_outputs(one, f"{name} {below}")
    if any(one.name in OUTPUTS for one in command.params) and command.callback is not None:
        command.callback = partial(_checked, command.callback, name)


def _checked(callback: Callable[..., Any], command: str, /, **values: Any) -> Any:
    given = {name: Path(value) for name, value in values.items() if isinstance(value, str | Path)}
    for output in OUTPUTS & given.keys():
        path = given[output]
        if path.suffix and not path.parent.is_dir():
            what = "is a file" if path.parent.exists() else "no such folder"
            raise ParkfError(
                f"{command}: {path.parent}: {what}, expected a folder; make it, or correct the {output}"
            )
        for name in given.keys() - OUTPUTS:
            if given[name].exists() and path.exists() and path.samefile(given[name]):
                raise ParkfError(
                    f"{command}: {path} is an input ({name}), which the output would replace;"
                    " expected another file: name one for the output"
                )
    return callback(**values)
