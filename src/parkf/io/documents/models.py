"""Documents read into strict models; every mistake with file, line, found and expected."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from parkf.io.documents.document import read_document
from parkf.io.documents.messages import expected, got, hint, said, unknown, with_reason, without_echoes
from parkf.io.documents.position import Place
from parkf.io.errors import ParkfError

Model = TypeVar("Model", bound=BaseModel)
# Errors of pydantic about limits: text of the message, and the limit's name.
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
_LENGTHS = {"too_short": ("at least", "min_length"), "too_long": ("at most", "max_length")}


def load_document(path: Path, model: type[Model]) -> Model:
    """Read a YAML file, or JSON where the name ends in .json.

    Raises
    ------
    ParkfError
        When the file is missing, cannot be parsed, or has something that `model` does not allow; with a line
        for each mistake.
    """
    document = read_document(path)
    try:
        return model.model_validate(document.content)
    except ValidationError as error:
        schema = model.model_json_schema()
        told = without_echoes(one for found in error.errors() for one in _told(found, schema))
        raise ParkfError(
            "\n".join(said(document.where(place), place, what) for place, what in told)
        ) from error


def _told(error: ErrorDetails, schema: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    # For a wrong key of a mapping, the location ends with an additional entry.
    key = bool(error["loc"]) and error["loc"][-1] == "[key]"
    place: Place = error["loc"][:-1] if key else error["loc"]
    value, limits = error["input"], error.get("ctx", {})
    here = _at(schema, place)
    match error["type"]:
        case "extra_forbidden":
            yield place, unknown(place[-1], _at(schema, place[:-1]).get("properties", {}))
        case "missing":
            yield place, f"missing; expected {expected(here)}"
        case "value_error":
            yield place, str(limits["error"])
        case bound if bound in _BOUNDS:
            word, name = _BOUNDS[bound]
            what = with_reason(f"{word} {limits[name]:g}", {} if key else here)
            yield place, f"got {got(value)}, expected {what}"
        case "literal_error":
            yield place, f"got {got(value)}, expected {limits['expected']}"
        case bound if bound in _LENGTHS:
            word, name = _LENGTHS[bound]
            what = with_reason(f"{word} {limits[name]}", here)
            yield place, f"got {limits['actual_length']} entries, expected {what}"
        case _:
            kind = here.get("type")
            if not key and (kind or "anyOf" in here):
                yield place, f"got {got(value)}, expected {expected(here)}{hint(value, kind)}"
            else:
                yield place, f"got {got(value)}: {error['msg']}"


def _at(schema: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """Part of a schema that applies to a place; empty where there is none."""
    part: Mapping[str, Any] = schema
    for name in place:
        part = _resolved(schema, part)
        if isinstance(name, int) and part.get("type") == "array":
            prefix = part.get("prefixItems", [])
            part = prefix[name] if name < len(prefix) else part.get("items", {})
        else:
            others = part.get("additionalProperties")
            rest = others if isinstance(others, dict) else {}
            part = part.get("properties", {}).get(name, rest)
    return _resolved(schema, part)


def _resolved(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in part:
        rest = {name: value for name, value in part.items() if name != "$ref"}
        return {**schema["$defs"][part["$ref"].removeprefix("#/$defs/")], **rest}
    # For a value or null, take the schema of the value.
    if "anyOf" in part and "type" in part["anyOf"][0] and len(part["anyOf"]) == 2:
        rest = {name: value for name, value in part.items() if name != "anyOf"}
        return {**part["anyOf"][0], **rest}
    return part
