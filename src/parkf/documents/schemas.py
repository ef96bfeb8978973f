"""Content held against a JSON schema: every mistake with its place, in words."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from parkf.documents.place import Place
from parkf.documents.wording import expected, got, hint, unknown, with_reason

_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "minLength": "a length of at least",
    "minItems": "a number of entries of at least",
    "minProperties": "a number of entries of at least",
}


def mistakes(schema: Mapping[str, Any], content: Any) -> Iterator[tuple[Place, str]]:
    """Find what a schema does not allow.

    Parameters
    ----------
    schema : mapping
        JSON schema; descriptions say unit and reason.
    content : Any
        As read from a document.

    Yields
    ------
    place : tuple
        Of the mistake; of a missing or unknown member that of the member.
    str
        What was found, and what is expected.
    """
    for error in Draft202012Validator(schema).iter_errors(content):
        yield from _told(error, tuple(error.absolute_path))


def _told(error: ValidationError, place: Place) -> Iterator[tuple[Place, str]]:
    value, asked = cast("Any", error.instance), cast("Any", error.validator_value)
    schema = cast("Mapping[str, Any]", error.schema)
    match error.validator:
        case "additionalProperties":
            known = schema.get("properties", {})
            for name in value:
                if name not in known:
                    yield (*place, str(name)), unknown(name, known)
        case "required":
            missing = next(name for name in asked if f"'{name}' is a required" in error.message)
            yield (*place, missing), f"missing; expected {expected(_member(error, missing))}"
        case "type":
            yield place, f"got {got(value)}, expected {expected(schema)}{hint(value, asked)}"
        case "enum" | "const":
            yield place, f"got {got(value)}, expected {expected(schema)}"
        case "pattern":
            what = with_reason(f"text like {asked}", schema)
            yield place, f"got {got(value)}, expected {what}"
        case "uniqueItems":
            yield place, "an entry is there twice; keep one of them"
        case "contains":
            yield place, f"expected {expected(asked)} among the entries"
        case "oneOf" if all("required" in one for one in asked):
            names = " or ".join(one["required"][0] for one in asked)
            yield place, f"expected either {names}, one of them"
        case "oneOf":
            yield place, f"got {got(value)}, expected {expected(schema)}"
        case "not":
            yield place, f"got {got(value)}, which is not for this place"
        case name if name in _BOUNDS:
            found = got(value) if isinstance(value, int | float) else str(len(value))
            yield place, f"got {found}, expected {with_reason(f'{_BOUNDS[name]} {asked:g}', schema)}"
        case _:
            yield place, error.message


def _member(error: ValidationError, name: str) -> Mapping[str, Any]:
    schema = cast("Mapping[str, Any]", error.schema)
    found: Mapping[str, Any] = schema.get("properties", {}).get(name, {})
    return found
