"""Check of a document's content against a JSON schema: each mistake with its position and a message."""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError

from parkf.io.documents.messages import expected, got, hint, unknown, with_reason, without_echoes
from parkf.io.documents.position import Place

_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "minLength": "at least",
    "maxLength": "at most",
    "minItems": "at least",
    "minProperties": "at least",
}
# JSON schema counts 5.0 as an integer; Python's range and the options of commands do not.
_INTEGER = Draft202012Validator.TYPE_CHECKER.redefine(
    "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
)
_Validator: Any = validators.extend(Draft202012Validator, type_checker=_INTEGER)  # type: ignore[no-untyped-call]


def mistakes(schema: Mapping[str, Any], content: Any) -> list[tuple[Place, str]]:
    """List the values that a JSON schema does not allow: their positions, and messages.

    A missing or unknown member is reported at its own position. Descriptions in the schema, which have unit
    and reason, are part of the messages.
    """
    return without_echoes(
        one for error in _Validator(schema).iter_errors(content) for one in _messages(error)
    )


def _messages(error: ValidationError) -> Iterator[tuple[Place, str]]:
    place = tuple(error.absolute_path)
    value: Any = error.instance
    schema: Any = error.schema
    asked: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            known = schema.get("properties", {})
            for name in value:
                if name not in known:
                    yield (*place, str(name)), unknown(name, known)
        case "required":
            missing = next(name for name in asked if f"'{name}' is a required" in error.message)
            member = schema.get("properties", {}).get(missing, {})
            yield (*place, missing), f"missing; expected {expected(member)}"
        case "pattern":
            yield place, f"got {got(value)}, expected {expected({'type': 'string', **schema})}"
        case "uniqueItems":
            yield place, "an entry is there twice; keep one of them"
        case "contains":
            yield place, f"expected {expected(asked)} among the entries"
        case "oneOf" if all("required" in one for one in asked):
            names = " or ".join(one["required"][0] for one in asked)
            yield place, f"expected either {names}, one of them"
        case "type" | "enum" | "const" | "oneOf":
            kind = asked if error.validator == "type" else None
            yield place, f"got {got(value)}, expected {expected(schema)}{hint(value, kind)}"
        case "not":
            yield place, f"got {got(value)}, which is not for this place"
        case name if name in _BOUNDS:
            unit = "letters" if isinstance(value, str) else "entries"
            found = got(value) if isinstance(value, int | float) else f"{len(value)} {unit}"
            yield place, f"got {found}, expected {with_reason(f'{_BOUNDS[name]} {asked:g}', schema)}"
        case _:
            yield place, error.message
