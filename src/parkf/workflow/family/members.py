"""The members of a family: a base configuration, and what each one has of its own."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from parkf.io.documents.document import Document, read_document
from parkf.io.documents.messages import got, said
from parkf.io.documents.schemas import mistakes
from parkf.io.errors import ParkfError
from parkf.workflow.config import load_config
from parkf.workflow.config_files import laid, merged, read_layers
from parkf.workflow.inputs import input_problems
from parkf.workflow.sources import Detector

# Entries of an axis: by name, the part of a run's configuration that is laid over the base.
Axis = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Member:
    """A run of a family; its name is that of its entry on each axis, joined by ``_``."""

    name: str
    # Complete.
    config: dict[str, Any]
    # Values that differ from the base, by keys such as ``detector.alignment``.
    own: dict[str, Any]
    # Name of its entry on each axis.
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """Runs that are trained together; the first one makes what others share with it."""

    name: str
    members: tuple[Member, ...]


def load_family(
    config: Mapping[str, Any],
    schemas: Path,
    folder: Path,
    document: Document | None = None,
    *,
    look_into_inputs: bool = False,
) -> Family:
    """Check a family's configuration, and expand it into its members.

    The folder `schemas` has the JSON schemas of families and runs. Input paths are relative to `folder`,
    where the runs take place. Inputs only have to exist, unless `look_into_inputs` is set. A ParkfError has a
    line for each mistake, in the family's configuration or in a member's, with its position in `document`.
    """
    schema = json.loads((schemas / "family.schema.json").read_text())
    problems = [
        said("family" if document is None else document.where(place), place, what)
        for place, what in mistakes(schema, dict(config))
    ]
    if problems:
        raise ParkfError("\n".join(sorted(problems)))
    base = read_layers(folder / config["base"])
    axes = config["matrix"] if "matrix" in config else [config["conditions"]]
    members = expand(config["family"], laid(base), axes)
    for member in members:
        documents = [*base, *([] if document is None else _parts(document, member))]
        try:
            load_config(member.config, schemas / "config.schema.json", folder, documents)
        except ParkfError as error:
            lines = (f"member {member.name}: {line}" for line in str(error).splitlines())
            problems.append("\n".join(lines))
            continue
        place = Detector.of(member.config["detector"], "", folder)
        if place.dumps or place.conditions:
            what = "a family takes files of this project: parkf import geometry, parkf import alignment"
            problems.append(f"member {member.name}: detector: {what}")
    if not problems and look_into_inputs:
        problems = list(dict.fromkeys(_of_inputs(members, folder)))
    if problems:
        raise ParkfError("\n".join(problems))
    return Family(config["family"], tuple(members))


def read_family(path: Path, schemas: Path, folder: Path) -> Family:
    """Read a family's configuration, and check all files that its members name.

    Raises
    ------
    ParkfError
        When there is a mistake in it, or no such file: then with the names of the families that exist.
    """
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml"))) or "none"
        raise ParkfError(f"{path}: no such configuration of a family; there are {there}")
    document = read_document(path)
    if not isinstance(document.content, dict):
        raise ParkfError(f"{path}: got {got(document.content)}, expected the configuration of a family")
    return load_family(document.content, schemas, folder, document, look_into_inputs=True)


def _parts(document: Document, member: Member) -> Iterator[Document]:
    if "conditions" in document.content:
        yield document.inside(("conditions", *member.labels))
        return
    for number, label in enumerate(member.labels):
        yield document.inside(("matrix", number, label))


def _of_inputs(members: Sequence[Member], folder: Path) -> Iterator[str]:
    seen = set()
    for member in members:
        used = json.dumps([member.config["detector"], member.config["field"]], sort_keys=True)
        if used not in seen:
            seen.add(used)
            yield from input_problems(member.config, folder)


def expand(family: str, base: Mapping[str, Any], axes: Sequence[Axis]) -> list[Member]:
    """Return a member for every combination of one entry of each axis; the last axis changes fastest.

    Two axes that set the same key, or two combinations with the same name, are a ParkfError.
    """
    keys = [{key for own in axis.values() for key, _ in leaves(own)} for axis in axes]
    for i, one in enumerate(keys):
        for other in keys[i + 1 :]:
            if both := sorted(one & other):
                raise ParkfError(f"family: matrix: two axes set {', '.join(both)}; one of them has to")
    members: list[Member] = []
    for chosen in product(*(axis.items() for axis in axes)):
        name = "_".join(label for label, _ in chosen)
        if name in (member.name for member in members):
            raise ParkfError(f"family: two members are called {name}; name them differently")
        config, own = dict(base), dict[str, Any]()
        for _, part in chosen:
            config = merged(config, part)
            own |= dict(leaves(part))
        labels = tuple(label for label, _ in chosen)
        members.append(Member(name, config | {"run": f"{family}.{name}"}, own, labels))
    return members


def leaves(part: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Go through a nested mapping: keys joined by dots, and their values."""
    for key, value in part.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
