"""Documents checked by strict models; an error names file, line, the value found and the expected one.

Everything that people or the project write down for later is such a document, from the configuration of a run
to the manifest of a set.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from parkf.io.documents.document import read_document
from parkf.io.documents.messages import (
    NUMBER,
    TEXT,
    WHOLE,
    got,
    hint,
    said,
    together,
    unknown,
    without_echoes,
)
from parkf.io.documents.position import Place
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed

MOST = 50
"""Mistakes of a document that are reported; the others are only counted."""

Model = TypeVar("Model", bound=BaseModel)
Entry = TypeVar("Entry")
# A list of a file, which is kept as a tuple.
Listed = Annotated[tuple[Entry, ...], Field(strict=False)]
# What is expected where pydantic reports a value of another type.
_TYPES = {
    **dict.fromkeys(("model_type", "dict_type"), "a mapping of names to values"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("int_type", "int_from_float"), WHOLE),
    **{"float_type": NUMBER, "string_type": TEXT, "bool_type": "true or false"},
}
# Words of pydantic's other messages, and those that stand beside what was found.
_WORDS = {
    **{"Input should be ": "", "greater than or equal to": "at least", "greater than": "more than"},
    **{"less than or equal to": "at most", "String should match pattern": "text like"},
    **{"String should have": "text of"},
}


class Strict(BaseModel):
    """A part of a document: frozen, without unknown keys, conversions of types, NaN and infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Noted(Strict):
    """A part of a document with a note, which is left out where there is nothing to say."""

    note: str = Field(default="", description="What was not fitted, and why; absent where everything was.")

    @model_serializer(mode="wrap")
    def _without_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = handler(self)
        if not content["note"]:
            del content["note"]
        return content


class StoredModel(Strict):
    """What the project writes into a file of its own; equal ones have equal bytes."""

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        write_sealed(path, self.model_dump(mode="json"))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what :meth:`save` wrote; a ParkfError reports a file that is missing, or is something else."""
        return validated(read_json(path), cls, lambda place: str(path), remedy="make it again")


def load_document(path: Path, model: type[Model]) -> Model:
    """Read a YAML file, or JSON where the name ends in .json.

    A ParkfError reports a file that is missing, cannot be parsed, or has something that `model` does not
    allow, with a line for each mistake.
    """
    document = read_document(path)
    return validated(document.content, model, document.where)


def validated(
    content: Any,
    model: type[Model],
    where: Callable[[Place], str],
    *,
    remedy: str = "correct it there",
    unknown_keys: Literal["forbid", "ignore"] | None = None,
) -> Model:
    """Check a content by a model.

    `where` returns the file and line of a place in the content, and `remedy` is what to do about a mistake.
    Unknown keys are treated as the model says, unless `unknown_keys` says otherwise for all its parts. A
    ParkfError has a line for each of the first :data:`MOST` mistakes.
    """
    try:
        return model.model_validate(content, extra=unknown_keys)
    except ValidationError as error:
        schema = model.model_json_schema()
        found = error.errors(include_url=False)
        mistakes = without_echoes(_message(one, schema) for one in found[:MOST])
        lines = [said(where(place), place, what) for place, what in mistakes]
        if len(found) > MOST:
            lines.append(f"{where(())}: {len(found) - MOST} mistakes more; correct these first")
        raise ParkfError(together(lines, remedy)) from error


def refuse(mistakes: Iterable[tuple[Place, str]]) -> None:
    """Raise, in a validator of a model, mistakes at places within the model; do nothing if there are none."""
    details = [
        InitErrorDetails(type=PydanticCustomError("said", "{what}", {"what": what}), loc=place, input=None)
        for place, what in mistakes
    ]
    if details:
        raise ValidationError.from_exception_data("", details)


def _message(error: ErrorDetails, schema: dict[str, Any]) -> tuple[Place, str]:
    # For a wrong key of a mapping, the location ends with an additional entry.
    key = error["loc"][-1:] == ("[key]",)
    place: Place = error["loc"][:-1] if key else error["loc"]
    value, limits, about = error["input"], error.get("ctx", {}), _at(schema, place).get("description")
    reason = f" ({about})" if about and not key else ""
    match error["type"]:
        case "said":
            what = error["msg"]
        case "value_error":
            what = str(limits["error"])
        case "extra_forbidden" | "invalid_key":
            what = unknown(place[-1], _at(schema, place[:-1]).get("properties", {}))
        case "literal_error" if key:
            what = unknown(place[-1], re.findall(r"'([^']*)'", limits["expected"]))
        case "missing":
            what = f"missing; expected a value{reason}"
        case "too_short" | "too_long":
            bound = "at least {min_length}" if "min_length" in limits else "at most {max_length}"
            what = f"got {len(value)} entries, expected {bound.format(**limits)}{reason}"
        case kind:
            should = _TYPES.get(kind, error["msg"])
            for theirs, ours in _WORDS.items():
                should = should.replace(theirs, ours)
            what = f"got {got(value)}, expected {should}{reason}{hint(value, should)}"
    return place, what


def _at(schema: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """Return the part of a schema that applies to a place; empty where there is none."""
    part = resolved(schema, schema)
    for name in place:
        if isinstance(name, int) and part.get("type") == "array":
            prefix = part.get("prefixItems", [])
            part = prefix[name] if name < len(prefix) else part.get("items", {})
        else:
            others = next(iter(part.get("patternProperties", {}).values()), part.get("additionalProperties"))
            # `additionalProperties` is False where no other members are allowed, and True where all are.
            part = part.get("properties", {}).get(name, others if isinstance(others, Mapping) else {})
        part = resolved(schema, part)
    return part


def resolved(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part of a schema with what it refers to; of a value or null, return that of the value."""
    rest = dict(part)
    if "$ref" in part:
        return schema["$defs"][rest.pop("$ref").removeprefix("#/$defs/")] | rest
    kinds = part.get("anyOf", ())
    if len(kinds) == 2 and kinds[1] == {"type": "null"}:
        return {**resolved(schema, rest.pop("anyOf")[0]), **rest}
    return part
