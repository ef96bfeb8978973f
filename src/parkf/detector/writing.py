"""Writing of geometry and alignment files."""

from pathlib import Path
from typing import Any

import yaml

from parkf.detector.alignment import Alignment
from parkf.detector.description import Description
from parkf.io.files import replacing


def write_alignment(path: Path, content: dict[str, Any], head: str) -> None:
    """Write an alignment file; the units of dumps and conditions are known, so what is large is confirmed."""
    unusual = Alignment.model_validate(content).unusual()
    write_yaml(path, content | ({"beyond_1_mm": True} if unusual else {}), head)


def write_geometry(path: Path, description: Description, head: str) -> None:
    """Write a geometry file."""
    write_yaml(path, description.model_dump(mode="json", exclude_unset=True), head)


def write_yaml(path: Path, content: dict[str, Any], head: str) -> None:
    """Write a YAML file of this project, a line for each innermost mapping."""
    style: Any = {"sort_keys": False, "default_flow_style": None, "width": 440, "allow_unicode": True}
    text = yaml.dump(content, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), **style)
    with replacing(path) as temporary:
        temporary.write_text(f"# {head}\n{text}", "utf-8")
