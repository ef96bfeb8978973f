"""Content of YAML, with or without tags."""

import json
from typing import Any

import yaml

from parkf.io.documents import yaml_text
from parkf.io.documents.position import DocumentError


def yaml_content(text: str) -> Any:
    """Read the content of YAML; a DocumentError if the text is no YAML."""
    try:
        return yaml_text.parse(text)[0]
    except DocumentError as error:
        # Documents of other projects, such as LHCb's conditions, have their own tags.
        try:
            yaml_text.check_depth(text, yaml.SafeLoader)
            return _Tagged().value(yaml.compose(text, yaml.SafeLoader))
        except yaml.YAMLError:
            raise error from None


class _Tagged:
    """Reads YAML with tags of its own. Lists and mappings are marked; a scalar is a number or a text."""

    def __init__(self) -> None:
        self._values = 0

    def value(self, node: yaml.Node | None) -> Any:
        """Read a node."""
        if node is None:
            return None
        self._values += 1
        if self._values > yaml_text.MOST_VALUES:
            raise DocumentError(f"more than {yaml_text.MOST_VALUES} values")
        if isinstance(node, yaml.ScalarNode):
            content: Any = _number(node.value) if node.style is None else node.value
        elif isinstance(node, yaml.SequenceNode):
            content = ["list", *map(self.value, node.value)]
        else:
            pairs = [[self.value(key), self.value(one)] for key, one in node.value]
            content = ["mapping", *sorted(pairs, key=lambda pair: json.dumps(pair[0]))]
        return ["tag", node.tag, content] if node.tag.startswith("!") else content


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
