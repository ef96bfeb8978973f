"""Texts of figures, tables and columns, from the YAML files of the folder ``words``."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parent / "words"


@cache
def texts(name: str) -> dict[str, Any]:
    """Return the content of ``words/<name>.yaml``."""
    content: dict[str, Any] = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return content
