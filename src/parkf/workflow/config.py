"""A run's configuration: read, and checked against its schema and against the files that it names."""

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parkf.io.documents.document import Document
from parkf.io.documents.messages import nearest, said, together
from parkf.io.documents.position import Place
from parkf.io.documents.schemas import mistakes
from parkf.io.errors import ParkfError
from parkf.workflow.config_files import EXTENDS, configurations, laid, read_layers
from parkf.workflow.sources import OF_MAPS, is_foreign_field, is_imported, named_files

CONFIGS = Path("workflow/config")
SCHEMA = Path("workflow/schemas/config.schema.json")
_NO_DUMPS = (
    ", and no folder; put Allen's velo_geometry.bin, ut_geometry.bin, scifi_geometry.bin and beamline.bin"
    " there, or name your own folder of them (docs/geometry.md)"
)
_ABSENT = object()


def load_config(
    config: Mapping[str, Any],
    schema: Path,
    folder: Path,
    documents: Sequence[Document] = (),
    *,
    look_into_inputs: bool = False,
) -> dict[str, Any]:
    """Check a configuration against its closed schema; return it with its keys sorted.

    `config` and its `documents`, the topmost last, are from :func:`parkf.workflow.config_files.extended`;
    messages name the document with the mistake. Input paths are relative to `folder`, where the run takes
    place. Inputs only have to exist, unless `look_into_inputs` is set. A ParkfError has one line for each key
    that is unknown, missing or out of range, for each missing input, and for a GPU fit without CuPy.
    """
    problems = mistakes(json.loads(schema.read_text()), dict(config))
    if EXTENDS in config:
        problems.append(((EXTENDS,), "only a configuration's own file says what it extends"))
    problems = problems or [*_missing_inputs(config, folder), *_contradictions(config)]
    lines = [said(_where(documents, config, place), place, what) for place, what in problems]
    if not lines and look_into_inputs:
        from parkf.workflow.inputs import input_problems

        lines = input_problems(config["detector"], config["field"], folder)
    if lines:
        raise ParkfError(together(sorted(lines)))
    ordered: dict[str, Any] = json.loads(json.dumps(config, sort_keys=True))
    return ordered


def read_config(path: Path, schema: Path, folder: Path) -> dict[str, Any]:
    """Read a run's configuration, and check all files that it names.

    Raises a ParkfError as :func:`load_config` does. If there is no such file, it lists the configurations
    that exist.
    """
    if not path.is_file():
        there = configurations(path.parent)
        near = nearest(path.stem, there)
        hint = f"did you mean {near}? " if near else ""
        raise ParkfError(
            f"{path}: no such configuration; {hint}there are {', '.join(there) or 'none'}: name one of them"
        )
    layers = read_layers(path)
    config = load_config(laid(layers), schema, folder, layers, look_into_inputs=True)
    from parkf.workflow.inputs import product_problems

    if problems := product_problems(config, folder):
        raise ParkfError("\n".join(problems))
    return config


def check_name(path: Path, config: Mapping[str, Any]) -> None:
    """Raise a ParkfError if a run's name differs from its file's: another file owns that results folder."""
    if (name := config["run"]) != path.stem:
        raise ParkfError(
            f"{path}: run: got {name}, expected {path.stem}, the name of the file: results/{name} belongs to"
            f" {name}.yaml"
        )


def _where(documents: Sequence[Document], config: Mapping[str, Any], place: Place) -> str:
    """Return the file and line of a value, or, if it is missing, of the mapping that lacks it."""
    value = _value(config, place)
    for length in range(len(place), 0, -1):
        for document in reversed(documents):
            there = _value(document.content, place[:length])
            if there is not _ABSENT:
                # The value differs where the command line has replaced it.
                same = there == value if length == len(place) else value is _ABSENT
                return document.where(place[:length]) if same else "config"
    return str(documents[-1].path) if documents and value is _ABSENT else "config"


def _value(content: Any, place: Place) -> Any:
    try:
        for name in place:
            content = content[name]
    except (KeyError, IndexError, TypeError):
        return _ABSENT
    return content


def _contradictions(config: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield keys that do not agree with other keys, or with this installation."""
    if limits := config.get("validity"):
        # Imported here, because most configurations have no limits.
        from parkf.params.validity import validity_of

        try:
            validity_of(limits)
        except ParkfError as error:
            yield ("validity",), str(error).removeprefix("validity: ")
    other, polarities = config.get("likeness"), config["polarities"]
    if other is not None and other["polarity"] not in polarities:
        what = f"got {other['polarity']}, expected one of polarities: {', '.join(polarities)}"
        yield ("likeness", "polarity"), what
    if config["fits"]["backend"] == "gpu" and find_spec("cupy") is None:
        what = "gpu: CuPy is missing; install parkf[gpu], or say auto, or cpu"
        yield ("fits", "backend"), what
    if config["forms"] != "production":
        if config["training"]["client"] == "trigger":
            what = "trigger: it has the forms of production alone; set forms: production, or client: parkf"
            yield ("training", "client"), what
        # Check this now: otherwise the assembly of the set would refuse it after hours of training.
        if config["training"]["noise_scale"].get("BEND", 1) != 1:
            what = "is for forms: production alone; extends: improved has the factors of improved forms"
            yield ("training", "noise_scale", "BEND"), what


def _missing_inputs(config: Mapping[str, Any], folder: Path) -> Iterator[tuple[Place, str]]:
    yield from _missing_detector(config["detector"], folder)
    source = config["field"]["source"]
    if not named_files(source, folder):
        yield ("field", "source"), f"{source}: no such file"
    own = [key for key in OF_MAPS if key in config["field"]]
    if own and not is_foreign_field(source):
        yield ("field", own[0]), f"{source}: a file of this project says that itself; leave it out"
    yield from _missing_data(config, folder)
    datasets = config["training"]["datasets"]
    trees = Path(datasets).suffix == ".root"
    if trees != ("datasets_polarity" in config["training"]):
        what = "missing: up or down, of tuning trees" if trees else "of tuning trees (.root) alone"
        yield ("training", "datasets_polarity"), what
    if is_imported(datasets):
        if not named_files(datasets, folder):
            yield ("training", "datasets"), f"{datasets}: no such file"
    elif datasets != "simulate":
        # Imported here, because most configurations name no datasets.
        from parkf.model.steps import FORMS

        steps = FORMS[config["forms"]].steps
        missing = [step for step in steps if not (folder / datasets / f"{step}.parquet").is_file()]
        if missing:
            what = f"{datasets}/{missing[0]}.parquet: no such file; expected <step>.parquet of each of "
            yield ("training", "datasets"), f"{what}{', '.join(steps)}, or simulate"


def _missing_data(config: Mapping[str, Any], folder: Path) -> Iterator[tuple[Place, str]]:
    """Yield files of a calibration that are missing, and decays that the run does not simulate."""
    data = config.get("calibration")
    if data is None:
        return
    files: list[tuple[Place, str]] = [(("placed",), data["placed"])]
    files += [(("candidates", number), file) for number, file in enumerate(data["candidates"])]
    for decay, of in data["pairs"].items():
        files += [(("pairs", decay, number), file) for number, file in enumerate(of)]
    for place, file in files:
        if not (folder / file).is_file():
            yield ("calibration", *place), f"{file}: no such file"
    if data["pairs"] and not config["signals"]["collisions"]:
        what = "got 0, expected as many decays as in calibration.pairs, to compare them with"
        yield ("signals", "collisions"), what


def _missing_detector(detector: Mapping[str, str], folder: Path) -> Iterator[tuple[Place, str]]:
    geometry, alignment = detector["geometry"], detector["alignment"]
    if (folder / geometry).is_dir():
        base = detector.get("base", "")
        if not (folder / base).is_file():
            what = f"{base or 'nothing'}: no such file; dumps need a geometry for the rest"
            yield ("detector", "base"), what
        if alignment != geometry and not (folder / alignment).is_file():
            what = f"{alignment}: no such file; what dumps say of it goes by the name of their folder"
            yield ("detector", "alignment"), what
        return
    for key, name in (("geometry", geometry), ("alignment", alignment)):
        if not (folder / name).is_file():
            hint = "" if Path(name).suffix or key != "geometry" else _NO_DUMPS
            yield ("detector", key), f"{name}: no such file, expected the {key}{hint}"
            if hint:
                return
