"""YAML as text: plain values only, each key once, and the line of each."""

import re
from typing import Any

import yaml

from parkf.io.documents.json_text import check_number
from parkf.io.documents.position import DEEPEST, DocumentError, Place, too_deep, twice

MOST_VALUES = 100_000
"""Largest number of values of a document; the values of an alias count each time."""

# Characters of an integer; 64 bits have 66 in the base of two.
_LONGEST = 100
_PREFIX = "tag:yaml.org,2002:"
_SCALARS = {_PREFIX + kind for kind in ("str", "int", "float", "bool", "null", "timestamp")}
# YAML 1.1 reads 1:30 as 90 and 0777 as 511; YAML 1.2 and people read other values.
_SURPRISES = {_PREFIX + "int": r".*:.*|[-+]?0[0-9_]+", _PREFIX + "float": r".*:.*"}
# libyaml's loader is ten times faster; a YAML package built without libyaml only has the other one.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse(text: str) -> tuple[Any, dict[Place, int]]:
    """Parse YAML; return its content, and the line of each value (for a member, the line of its key).

    The content is mappings, lists, text, numbers, true or false, and None. A DocumentError reports text that
    is no YAML, or several documents; a repeated key; a number that is not finite, is beyond 64 bits, or
    has another value for people; a tag; and too deep nesting.
    """
    try:
        check_depth(text)
        loader = _Loader(text)
        try:
            builder = _Builder(loader)
            node = loader.get_single_node()
            content = None if node is None else builder.value(node, (), node.start_mark.line + 1)
            return content, builder.lines
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if "maximum nesting depth" in str(error):
            # libyaml reads ahead, and has a limit of its own.
            raise too_deep(mark.line + 1 if mark else None) from error
        what = " ".join(filter(None, (error.context, error.problem)))
        raise DocumentError(what, None if mark is None else mark.line + 1) from error
    except yaml.YAMLError as error:
        # The file has characters that YAML does not allow.
        raise DocumentError(" ".join(str(error).split())) from error


def check_depth(text: str, loader: Any = _Loader) -> None:
    """Raise a DocumentError if text is nested too deep, and the loader's YAMLError if it is no YAML."""
    # The composer recurses in C, and would crash the process on deeply nested text.
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise too_deep(event.start_mark.line + 1 if event.start_mark else None)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Builder:
    """Builds the content of nodes, and notes the line of each value."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self.lines: dict[Place, int] = {}

    def value(self, node: yaml.Node, place: Place, line: int) -> Any:
        self.lines[place] = line
        if len(self.lines) > MOST_VALUES or len(place) > DEEPEST:
            raise DocumentError(f"more than {MOST_VALUES} values, or aliases without end", line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            self._plain(node, {_PREFIX + "seq"})
            return [
                self.value(item, (*place, index), item.start_mark.line + 1)
                for index, item in enumerate(node.value)
            ]
        return self._scalar(node, place, line)

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[Any, Any]:
        self._plain(node, {_PREFIX + "map"})
        content: dict[Any, Any] = {}
        first: dict[Any, int] = {}
        for key_node, value in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _PREFIX + "merge":
                raise DocumentError("'<<' is not read; write the keys out", line)
            if not isinstance(key_node, yaml.ScalarNode):
                raise DocumentError("a list or mapping for a key, expected a name", line)
            key = self._scalar(key_node, place, line)
            if key in first:
                raise twice(key, line, first[key])
            first[key] = line
            content[key] = self.value(value, (*place, key), line)
        return content

    def _scalar(self, node: yaml.Node, place: Place, line: int) -> Any:
        self._plain(node, _SCALARS)
        what = f"{len(node.value)} characters" if len(node.value) > 40 else f"'{node.value}'"
        wrong = DocumentError(f"got {what}, expected a number or a date", line, place)
        # Long integers in other bases take a time that grows with the square of their length.
        if node.tag == _PREFIX + "int" and len(node.value) > _LONGEST:
            raise wrong
        try:
            value = self._loader.construct_object(node)
        except (ValueError, OverflowError) as error:
            raise wrong from error
        if node.tag in _SURPRISES and re.fullmatch(_SURPRISES[node.tag], node.value):
            what = f"got {node.value}, which YAML reads as {value}"
            raise DocumentError(f"{what}; write a decimal number, or text in quotes", line, place)
        check_number(place, line, value)
        return value

    @staticmethod
    def _plain(node: yaml.Node, tags: set[str]) -> None:
        if node.tag not in tags:
            raise DocumentError(
                f"tag '{node.tag.replace(_PREFIX, '!!')}', expected plain values without tags",
                node.start_mark.line + 1,
            )
