"""Checks a document against a JSON Schema, as far as the manifest's goes, and says the first problem.

The C++ reader (``consumer/schema.hpp``) does the same with the same schema, and in the same words.
"""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parkf.io.documents import json_text
from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import existing

# Of a manifest, in bytes.
LARGEST = 4 << 20

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
    """Read a JSON file, trusting nobody.

    Raises
    ------
    ParkfError
        When it is missing, larger than 4 MiB, nested too deep, no UTF-8, no JSON, or has a key twice.
    """
    size = existing(path).stat().st_size
    if size > LARGEST:
        raise ParkfError(f"{path}: {size} bytes, expected at most {LARGEST}")
    try:
        text = path.read_bytes().decode()
        content = json_text.parse(text, finite=False)
        # An escaped half of a surrogate pair is not a character, and is refused here.
        json.dumps(content, ensure_ascii=False).encode()
    except ValueError as error:
        raise DamagedFileError.said(path, f"{path}: not a JSON file: {error}") from error
    return content


def first_problem(
    schema: Mapping[str, Any], document: Any, *, unknown_fields_pass: bool = False
) -> str | None:
    """Say the first problem of a document, with its place, or None.

    Parameters
    ----------
    schema : mapping
        Objects with ``additionalProperties`` false, lists, numbers with bounds, text with a pattern, choices,
        references to ``$defs``, and anything of this or null.
    document : Any
        As read from JSON.
    unknown_fields_pass : bool
        For documents that say that older readers may read them.
    """
    return _Checker(schema, unknown_fields_pass).check(schema, document, "")


class _Checker:
    def __init__(self, root: Mapping[str, Any], lenient: bool) -> None:
        self._root, self._lenient = root, lenient

    def check(self, schema: Mapping[str, Any], value: Any, place: str) -> str | None:
        while "$ref" in schema:
            schema = self._root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        if "anyOf" in schema:
            return None if value is None else self.check(schema["anyOf"][0], value, place)
        kind = _kind(value)
        wanted = schema.get("type", kind)
        if kind != wanted and (kind, wanted) != ("integer", "number"):
            return _expected(place, value, _NAMES[wanted])
        if kind == "object":
            return self._members(schema, value, place)
        if kind == "array":
            return self._items(schema, value, place)
        return _number(schema, value, place) or _text(schema, value, place) or _choice(schema, value, place)

    def _members(self, schema: Mapping[str, Any], value: dict[str, Any], place: str) -> str | None:
        properties = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                return _said(_inside(place, name), "missing field")
        others = schema.get("additionalProperties")
        for name, member in value.items():
            known = properties.get(name, others or None)
            if known is None and not self._lenient:
                return _said(_inside(place, name), "unknown field")
            found = self.check(known, member, _inside(place, name)) if known is not None else None
            if found:
                return found
        return None

    def _items(self, schema: Mapping[str, Any], value: list[Any], place: str) -> str | None:
        if "items" not in schema:
            return None
        checked = (self.check(schema["items"], item, _inside(place, str(i))) for i, item in enumerate(value))
        return next((found for found in checked if found), None)


def _number(schema: Mapping[str, Any], value: Any, place: str) -> str | None:
    if _kind(value) not in ("integer", "number"):
        return None
    if not math.isfinite(value):
        return _said(place, "got a number beyond double precision, expected a finite one")
    if "minimum" in schema and value < schema["minimum"]:
        return _expected(place, value, f"at least {schema['minimum']}")
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return _expected(place, value, f"more than {schema['exclusiveMinimum']}")
    return None


def _text(schema: Mapping[str, Any], value: Any, place: str) -> str | None:
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        return _expected(place, value, f"text like {schema['pattern']}")
    return None


def _choice(schema: Mapping[str, Any], value: Any, place: str) -> str | None:
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [value])
    if any(value == c and _kind(value) == _kind(c) for c in choices):
        return None
    return _expected(place, value, " or ".join(json.dumps(c) for c in choices))


def _kind(value: Any) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return kinds.get(type(value), "null")


def _expected(place: str, value: Any, what: str) -> str:
    shown = {"object": "an object", "array": "a list"}.get(_kind(value))
    got = shown or json.dumps(value, ensure_ascii=False).encode()[:40].decode(errors="ignore")
    return _said(place, f"got {got}, expected {what}")


def _said(place: str, what: str) -> str:
    return f"{place}: {what}" if place else what


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
