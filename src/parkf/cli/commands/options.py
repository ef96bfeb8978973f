"""Arguments and options of several commands, and the objects that options name."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, BadParameter, Option

from parkf.io.errors import ParkfError
from parkf.io.option_types import Interpolation, Outside
from parkf.io.project import found

if TYPE_CHECKING:
    from parkf.params.registry import Registry

GATES = Path("workflow/config/gates.yaml")
# Arguments and options that commands write to.
OUTPUTS = {"output", "to"}


def numbers_by_name(given: list[str], form: str, count: int = 1) -> dict[str, tuple[float, ...]]:
    """Read texts NAME=NUMBER, or NAME=NUMBER:NUMBER with a `count` of 2; the last number is an error.

    `form` says what is expected, where a text is another one.
    """
    found = {}
    for one in given:
        name, _, text = one.partition("=")
        try:
            numbers = tuple(map(float, text.split(":")))
        except ValueError:
            numbers = ()
        if len(numbers) != count or not all(map(math.isfinite, numbers)) or not numbers[-1] > 0:
            raise BadParameter(f"{one}, expected {form}")
        found[name] = numbers
    return found


def _polarity(value: int) -> int:
    if value not in (-1, 1):
        raise BadParameter(f"{value}, expected +1 (MagUp) or -1 (MagDown)")
    return value


def _published(incomplete: str) -> list[str]:
    """Return the published versions that begin with the given text, for the shell's completion."""
    return [version for version in registry_in(None).names() if version.startswith(incomplete)]


Candidates = Annotated[Path, Argument(help="Track candidates (.parquet, .root).")]
FittedTracks = Annotated[Path, Argument(help="Fitted tracks to write (.parquet, .root, .csv).")]
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
Threads = Annotated[int, Option("--threads", min=1, help="Number of cores; results do not depend on it.")]
Share = Annotated[
    float, Option("--share", min=0, max=1, help="Share of rows that may be wrong, and are then left out.")
]
Json = Annotated[bool, Option("--json", help="Print JSON, for other programs.")]
OutsideMap = Annotated[Outside, Option("--outside", help="Result of a look-up outside the map.")]
Between = Annotated[Interpolation, Option("--interpolation", help="Interpolation between the nodes.")]
RunFolder = Annotated[Path, Argument(help="Folder of a run.")]
SetFolder = Annotated[Path, Argument(metavar="SET", help="A set's folder.")]
GatesFile = Annotated[
    Path, Option("--gates", callback=found, help="File of thresholds, each with its reason.")
]
Set = Annotated[str, Argument(metavar="SET", help="Version or folder of a set.", autocompletion=_published)]
_REGISTRY_HELP = "Folder of published sets; by default params/ here, then the sets that parkf ships."
Withdrawn = Annotated[
    bool, Option("--withdrawn", help="Use the set even if it was withdrawn, to repeat old results.")
]
RegistryFolder = Annotated[Path | None, Option("--registry", help=_REGISTRY_HELP)]


def registry_in(folder: Path | None) -> "Registry":
    """Return the registry in a folder; by default the registry that sets are read from."""
    from parkf.params.registry import Registry, readable_registry

    return readable_registry() if folder is None else Registry(folder)


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
