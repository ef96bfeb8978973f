"""Checks a document against the manifest's JSON Schema, and returns the first problem.

The C++ reader (``consumer/schema.hpp``) uses the same schema and has the same messages. :mod:`pydantic` and
:mod:`jsonschema` have other messages, so neither can be used here.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from parkf.io.documents import json_text
from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import existing

# Largest size of a manifest, bytes.
LARGEST = 4 << 20

_KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def read_document(path: Path) -> Any:
    """Read a JSON file from an unknown source, as :func:`parse_document` does."""
    with existing(path).open("rb") as stream:
        return parse_document(path, stream.read(LARGEST + 1))


def parse_document(path: Path, bytes_of_it: bytes) -> Any:
    """Parse the bytes of a JSON file; broken ones, or over 4 MiB, raise a ParkfError that names `path`."""
    if len(bytes_of_it) > LARGEST:
        raise ParkfError(f"{path}: {len(bytes_of_it)} bytes, expected at most {LARGEST}")
    try:
        text = bytes_of_it.decode()
        content = json_text.parse(text, finite=False)
        # An escaped half of a surrogate pair is not a character, and is refused here.
        json.dumps(content, ensure_ascii=False).encode()
    except ValueError as error:
        raise DamagedFileError.said(path, f"{path}: not a JSON file: {error}") from error
    return content


def first_problem(
    schema: Mapping[str, Any], document: Any, *, unknown_fields_pass: bool = False
) -> str | None:
    """Return the first problem of a document, with its position, or None.

    The schema may have objects with ``additionalProperties`` false, lists, numbers with bounds, text with a
    pattern, choices, references to ``$defs``, and any of these that may also be null. Unknown fields may pass
    in documents of a newer format that older readers may read.
    """
    problems = _problems(schema.get("$defs", {}), unknown_fields_pass, schema, document, "")
    return next(problems, None)


def _problems(
    definitions: Mapping[str, Any], lenient: bool, schema: Mapping[str, Any], value: Any, place: str
) -> Iterator[str]:
    inner = partial(_problems, definitions, lenient)
    if "anyOf" in schema:
        if value is None:
            return
        schema = schema["anyOf"][0]
    while "$ref" in schema:
        schema = definitions[schema["$ref"].removeprefix("#/$defs/")]
    kind = _kind(value)
    wanted = schema.get("type", kind)
    if kind != wanted and (kind, wanted) != ("integer", "number"):
        yield _expected(place, value, _NAMES[wanted])
    elif kind == "object":
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{_inside(place, name)}: missing field"
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, member in value.items():
            known = properties.get(name, others or None)
            if known is not None:
                yield from inner(known, member, _inside(place, name))
            elif not lenient:
                yield f"{_inside(place, name)}: unknown field"
    elif kind == "array" and "items" in schema:
        for i, item in enumerate(value):
            yield from inner(schema["items"], item, _inside(place, str(i)))
    else:
        yield from _of_scalar(schema, value, place)


def _of_scalar(schema: Mapping[str, Any], value: Any, place: str) -> Iterator[str]:
    if _kind(value) in ("integer", "number"):
        if not math.isfinite(value):
            where = f"{place}: " if place else ""
            yield f"{where}got a number beyond double precision, expected a finite one"
        if "minimum" in schema and value < schema["minimum"]:
            yield _expected(place, value, f"at least {schema['minimum']}")
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            yield _expected(place, value, f"more than {schema['exclusiveMinimum']}")
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        yield _expected(place, value, f"text like {schema['pattern']}")
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if choices and not any(value == one and _kind(value) == _kind(one) for one in choices):
        yield _expected(place, value, " or ".join(json.dumps(one) for one in choices))


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "null")


def _expected(place: str, value: Any, what: str) -> str:
    shown = {"object": "an object", "array": "a list"}.get(_kind(value))
    got = shown or json.dumps(value, ensure_ascii=False).encode()[:40].decode(errors="ignore")
    return (f"{place}: " if place else "") + f"got {got}, expected {what}"


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
