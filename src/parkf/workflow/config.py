"""A run's configuration: read, and checked by its model and against the files that it names."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parkf.io.documents.document import Document
from parkf.io.documents.messages import nearest, said, together
from parkf.io.documents.models import validated
from parkf.io.documents.position import Place
from parkf.io.errors import ParkfError
from parkf.workflow.config_files import configurations, laid, read_layers
from parkf.workflow.config_model import RunConfig

CONFIGS = Path("workflow/config")
_ABSENT = object()


def load_config(
    config: Mapping[str, Any],
    folder: Path,
    documents: Sequence[Document] = (),
    *,
    look_into_inputs: bool = False,
) -> dict[str, Any]:
    """Check a configuration by its model; return it with its keys sorted.

    `config` and its `documents`, the topmost last, are from :func:`parkf.workflow.config_files.extended`;
    messages name the document with the mistake. Input paths are relative to `folder`, where the run takes
    place. Inputs only have to exist, unless `look_into_inputs` is set. A ParkfError has one line for each key
    that is unknown, missing or out of range, for each missing input, and for a GPU fit without CuPy.
    """
    where = partial(_where, documents, config)
    validated(dict(config), RunConfig, where)
    lines = [said(where(place), place, what) for place, what in _missing(config, folder)]
    if not lines and look_into_inputs:
        from parkf.workflow.inputs import input_problems

        lines = input_problems(config["detector"], config["field"], folder)
    if lines:
        raise ParkfError(together(sorted(lines)))
    ordered: dict[str, Any] = json.loads(json.dumps(config, sort_keys=True))
    return ordered


def read_config(path: Path, folder: Path) -> dict[str, Any]:
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
    config = load_config(laid(layers), folder, layers, look_into_inputs=True)
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


def _missing(config: Mapping[str, Any], folder: Path) -> Iterator[tuple[Place, str]]:
    """Yield what a configuration names and this machine does not have."""
    yield from _missing_detector(config["detector"], folder)
    source, training = config["field"]["source"], config["training"]
    if not (folder / source).is_file():
        yield ("field", "source"), f"{source}: no such file"
    yield from _missing_data(config.get("calibration"), folder)
    datasets = training["datasets"]
    if datasets != "simulate":
        # Imported here, because most configurations name no datasets.
        from parkf.model.steps import FORMS

        names = {path.stem for path in (folder / datasets).glob("*.parquet")}
        # A step without a file is simulated, which must not happen to a misspelt one.
        if not names or names - FORMS[config["forms"]].steps.keys():
            got = f"{min(names)}.parquet" if names else "no files"
            what = f"{datasets}: got {got}, expected <step>.parquet of some of "
            yield ("training", "datasets"), f"{what}{', '.join(FORMS[config['forms']].steps)}, or simulate"
    if config["fits"]["backend"] == "gpu" and find_spec("cupy") is None:
        yield ("fits", "backend"), "gpu: CuPy is missing; install parkf[gpu], or say auto, or cpu"


def _missing_data(data: Mapping[str, Any] | None, folder: Path) -> Iterator[tuple[Place, str]]:
    """Yield files of a calibration that are missing."""
    if data is None:
        return
    files: list[tuple[Place, str]] = [(("placed",), data["placed"])]
    files += [(("candidates", number), file) for number, file in enumerate(data["candidates"])]
    for decay, of in data["pairs"].items():
        files += [(("pairs", decay, number), file) for number, file in enumerate(of)]
    for place, file in files:
        if not (folder / file).is_file():
            yield ("calibration", *place), f"{file}: no such file"


def _missing_detector(detector: Mapping[str, str], folder: Path) -> Iterator[tuple[Place, str]]:
    for key, name in detector.items():
        if not (folder / name).is_file():
            hint = f"; `parkf import {key}` makes one of LHCb's" if (folder / name).is_dir() else ""
            yield ("detector", key), f"{name}: no such file, expected the {key}{hint}"
