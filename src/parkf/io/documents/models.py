"""Documents read into strict models; an error names file, line, the value found and the expected one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from parkf.io.documents.document import read_document
from parkf.io.documents.messages import (
    expected,
    got,
    hint,
    said,
    together,
    unknown,
    with_reason,
    without_echoes,
)
from parkf.io.documents.position import Place
from parkf.io.errors import ParkfError

Model = TypeVar("Model", bound=BaseModel)
# Errors of pydantic about numbers and lengths beyond a limit: text of the message, and the limit's name.
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "too_short": ("at least", "min_length"),
    "too_long": ("at most", "max_length"),
}


def load_document(path: Path, model: type[Model]) -> Model:
    """Read a YAML file, or JSON where the name ends in .json.

    A ParkfError reports a file that is missing, cannot be parsed, or has something that `model` does not
    allow, with a line for each mistake.
    """
    document = read_document(path)
    try:
        return model.model_validate(document.content)
    except ValidationError as error:
        schema = model.model_json_schema()
        mistakes = without_echoes(_message(one, schema) for one in error.errors())
        lines = [said(document.where(place), place, what) for place, what in mistakes]
        raise ParkfError(together(lines)) from error


def _message(error: ErrorDetails, schema: dict[str, Any]) -> tuple[Place, str]:
    # For a wrong key of a mapping, the location ends with an additional entry.
    key = error["loc"][-1:] == ("[key]",)
    place: Place = error["loc"][:-1] if key else error["loc"]
    value, limits = error["input"], error.get("ctx", {})
    here = _at(schema, place)
    match error["type"]:
        case "extra_forbidden":
            what = unknown(place[-1], _at(schema, place[:-1]).get("properties", {}))
        case "missing":
            what = f"missing; expected {expected(here)}"
        case "value_error":
            what = str(limits["error"])
        case bound if bound in _BOUNDS:
            word, name = _BOUNDS[bound]
            found = f"{limits['actual_length']} entries" if "actual_length" in limits else got(value)
            limit = with_reason(f"{word} {limits[name]:g}", {} if key else here)
            what = f"got {found}, expected {limit}"
        case "literal_error":
            what = f"got {got(value)}, expected {limits['expected']}"
        case _ if not key and ("type" in here or "anyOf" in here):
            what = f"got {got(value)}, expected {expected(here)}{hint(value, here.get('type'))}"
        case _:
            what = f"got {got(value)}: {error['msg']}"
    return place, what


def _at(schema: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """Part of a schema that applies to a place; empty where there is none."""
    part = _resolved(schema, schema)
    for name in place:
        if isinstance(name, int) and part.get("type") == "array":
            prefix = part.get("prefixItems", [])
            part = prefix[name] if name < len(prefix) else part.get("items", {})
        else:
            # `additionalProperties` is False where no other members are allowed.
            part = part.get("properties", {}).get(name, part.get("additionalProperties") or {})
        part = _resolved(schema, part)
    return part


def _resolved(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    rest = dict(part)
    if "$ref" in part:
        return schema["$defs"][rest.pop("$ref").removeprefix("#/$defs/")] | rest
    # For a value or null, use the schema of the value.
    if "anyOf" in part and "type" in part["anyOf"][0] and len(part["anyOf"]) == 2:
        return rest.pop("anyOf")[0] | rest
    return part
