"""Geometry and alignment that a configuration names: of this project, or LHCb's, which are imported first."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self


def is_conditions(path: Path) -> bool:
    """Whether a file is YAML of LHCb's conditions rather than an alignment of this project."""
    return path.is_file() and b"!alignment" in path.read_bytes()


@dataclass(frozen=True)
class Detector:
    """Files of geometry and alignment, and the files that they are imported from, if any."""

    geometry: str
    alignment: str
    dumps: tuple[str, ...]  # Allen's dumps of the geometry
    conditions: str | None  # LHCb's conditions of the alignment

    @classmethod
    def of(cls, config: Mapping[str, str], made: str, folder: Path) -> Self:
        """Return the files that a configuration names in `folder`; imported ones go to the folder `made`."""
        geometry, alignment = config["geometry"], config["alignment"]
        dumps: tuple[str, ...] = ()
        if (folder / geometry).is_dir():
            from parkf.imports.geometry.dumps import FILES

            names = (f"{geometry}/{name}" for name in FILES.values())
            dumps = tuple(name for name in names if (folder / name).is_file())
        conditions = alignment if is_conditions(folder / alignment) else None
        if conditions is not None:
            alignment = f"{made}/alignment_of_conditions.yaml"
        elif dumps and alignment == geometry:
            alignment = f"{made}/alignment_of_dumps.yaml"
        return cls(f"{made}/geometry.yaml" if dumps else geometry, alignment, dumps, conditions)
