"""A call of a stage: the words of a command line, read by the types of the stage's arguments."""

import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from parkf.io.documents import json_text
from parkf.io.errors import ParkfError
from parkf.io.fingerprints.code_key import code_key
from parkf.stages.files import MADE, READ

_NO_STAGES = ("call", "files", "run")


class UsageError(ParkfError):
    """Words that are no call of a stage."""


@dataclass(frozen=True)
class Call:
    """A stage with its arguments."""

    stage: str
    function: Callable[..., None]
    arguments: Mapping[str, Any]
    inputs: Mapping[str, Sequence[Path]]  # files that it reads, by argument
    outputs: Sequence[Path]  # files that it makes
    values: Mapping[str, Any]  # other arguments, without the number of threads

    @property
    def threads(self) -> int:
        """Number of cores, on which no product depends."""
        return int(self.arguments.get("threads", 1))


def module_of(stage: str) -> str:
    """Return the name of a stage's module; a UsageError if there is no such stage."""
    name = f"parkf.stages.{stage}"
    if not stage.isidentifier() or stage.startswith("_") or stage in _NO_STAGES or find_spec(name) is None:
        here = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
        known = ", ".join(one for one in here if one not in _NO_STAGES)
        raise UsageError(f"no stage {stage}; there are {known}")
    return name


def code_of(*stages: str) -> str:
    """Return the key of all code that decides what stages make, with what every stage sets at its begin."""
    return code_key(*map(module_of, stages), "parkf.io.process_settings")


def read_call(stage: str, words: Sequence[str]) -> Call:
    """Read ``--name value ...`` for each argument of a stage; a UsageError names what is wrong."""
    function = getattr(import_module(module_of(stage)), stage)
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters
    # A rule may have no file for a name; then the name is as good as absent.
    given = {
        name: texts
        for name, texts in _by_name(words).items()
        if texts or name not in hints or _takes_none(_kind(hints[name])[0])
    }
    if unknown := given.keys() - parameters.keys():
        expected = ", ".join(parameters)
        raise UsageError(f"{stage}: no argument --{min(unknown)}; expected some of {expected}")
    missing = [name for name, one in parameters.items() if one.default is one.empty and name not in given]
    if missing:
        raise UsageError(f"{stage}: --{missing[0]} is missing")
    inputs: dict[str, list[Path]] = {}
    outputs: list[Path] = []
    arguments: dict[str, Any] = {}
    for name, texts in given.items():
        kind, role = _kind(hints[name])
        if role == READ:
            texts = [path for text in texts for path in _matching(text)]
        arguments[name] = _value(f"{stage}: --{name}", kind, texts)
        files = arguments[name] if isinstance(arguments[name], list) else [arguments[name]]
        if role == READ:
            inputs[name] = files
        elif role == MADE:
            outputs += files
    # A default is a value, too: the products depend on it.
    values = {
        name: arguments.get(name, one.default)
        for name, one in parameters.items()
        if _kind(hints[name])[1] is None and name != "threads"
    }
    return Call(stage, function, arguments, inputs, list(dict.fromkeys(outputs)), values)


def _takes_none(kind: Any) -> bool:
    return kind is bool or get_origin(kind) is list


def _by_name(words: Sequence[str]) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    texts: list[str] | None = None
    for word in words:
        if word.startswith("--"):
            texts = given.setdefault(word.removeprefix("--").replace("-", "_"), [])
        elif texts is None:
            raise UsageError(f"got {word}, expected --name and its values")
        else:
            texts.append(word)
    return given


def _kind(hint: Any) -> tuple[Any, str | None]:
    """Return a type without None and, of files, whether they are read or made."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is Annotated:
        kind, role, *_ = get_args(hint)
        return kind, role
    return hint, None


def _value(where: str, kind: Any, texts: Sequence[str]) -> Any:
    if get_origin(kind) is list:
        return [_single(where, get_args(kind)[0], text) for text in texts]
    if kind is bool and not texts:
        return True
    if len(texts) != 1:
        raise UsageError(f"{where}: got {len(texts)} values, expected one")
    return _single(where, kind, texts[0])


def _single(where: str, kind: Any, text: str) -> Any:
    try:
        if get_origin(kind) is dict:
            content = json_text.parse(text)
            if not isinstance(content, dict):
                raise ValueError("it is no mapping")
            return content
        if kind is bool:
            return {"True": True, "False": False}[text]
        if get_origin(kind) is Literal and text not in get_args(kind):
            raise ValueError
        return text if get_origin(kind) is Literal else kind(text)
    except (ValueError, KeyError) as error:
        name = " or ".join(get_args(kind)) if get_origin(kind) is Literal else getattr(kind, "__name__", kind)
        if get_origin(kind) is dict:
            name = f"a mapping as JSON: {error}"
        raise UsageError(f"{where}: got {text}, expected {name}") from error


def _matching(text: str) -> list[str]:
    """Return the files that a word with ``*`` stands for, by their numbers; another word is one file."""
    # A file's own name may have a star.
    if "*" not in text or Path(text).exists():
        return [text]
    found = sorted(map(str, Path().glob(text)), key=_by_numbers)
    if not found:
        raise UsageError(f"{text}: no such files")
    return found


def _by_numbers(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
