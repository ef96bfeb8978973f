"""Files that a configuration names: files of this project, and foreign files, which are imported first."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from parkf.io.errors import ParkfError
from parkf.io.files import matching, sha256

OF_MAPS = ("length", "unit", "symmetry", "polarity", "tree")
"""Keys of the section ``field`` that only a map of others needs."""


def is_foreign_field(source: str) -> bool:
    """Whether a field is a foreign map, which `parkf import field` reads."""
    return Path(source).suffix not in (".json", ".npz")


def is_imported(datasets: str) -> bool:
    """Whether datasets are foreign tuples, which `parkf import steps` reads."""
    return Path(datasets).suffix in (".yaml", ".yml", ".root")


def is_conditions(path: Path) -> bool:
    """Whether a file is YAML of LHCb's conditions rather than an alignment of this project."""
    return path.is_file() and b"!alignment" in path.read_bytes()


def named_files(pattern: str, folder: Path) -> list[str]:
    """Return the files that match a pattern; an empty list if there is none."""
    try:
        return [str(path) for path in matching(pattern, folder)]
    except ParkfError:
        return []


def field_fingerprint(config: Mapping[str, Any], folder: Path) -> str:
    """Return the SHA-256 of the file of a section ``field``, or, of several files, of their checksums."""
    prints = [sha256(path) for path in matching(config["source"], folder)]
    return prints[0] if len(prints) == 1 else hashlib.sha256(" ".join(prints).encode()).hexdigest()


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
