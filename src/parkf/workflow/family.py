"""Families of runs: many alignments, fields and geometries, trained together with common products.

A member is a base configuration with some other settings, and a whole run of its own: it has the same bytes
as alone. What another member has made of the same is copied (:mod:`parkf.stages.run`).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parkf.io.documents.document import Document, read_document
from parkf.io.documents.messages import got, together
from parkf.io.documents.models import validated
from parkf.io.errors import ParkfError
from parkf.workflow.config import load_config
from parkf.workflow.config_files import laid, merged, read_layers
from parkf.workflow.family_model import FamilyConfig
from parkf.workflow.inputs import input_problems
from parkf.workflow.rounds import have_ended, rounds


@dataclass(frozen=True)
class Member:
    """A run of a family."""

    name: str
    config: dict[str, Any]  # complete
    own: dict[str, Any]  # values that differ from the base, by keys such as ``detector.alignment``


@dataclass(frozen=True)
class Family:
    """Runs that are trained together."""

    name: str
    members: tuple[Member, ...]
    reported: tuple[Member, ...]  # those that are validated: all, or the last round of a calibration


def load_family(
    config: Mapping[str, Any],
    folder: Path,
    document: Document | None = None,
    *,
    look_into_inputs: bool = False,
) -> Family:
    """Check a family's configuration, and expand it into its members.

    Input paths are relative to `folder`, where the runs take place. Inputs only have to exist, unless
    `look_into_inputs` is set. A ParkfError has a line for each mistake in the configuration of the family or
    of a member, with its position in `document`.
    """
    validated(dict(config), FamilyConfig, (lambda place: "family") if document is None else document.where)
    problems: list[str] = []
    base = read_layers(folder / config["base"])
    if "rounds" in config:
        members = expand(config["family"], laid(base), rounds(config["family"], config["rounds"], folder))
        document = None
    else:
        members = expand(config["family"], laid(base), config["conditions"])
    for member in members:
        parts = [] if document is None else [document.inside(("conditions", member.name))]
        try:
            load_config(member.config, folder, [*base, *parts])
        except ParkfError as error:
            problems += [f"member {member.name}: {line}" for line in str(error).splitlines()]
    if not problems and look_into_inputs:
        # Members with the same files have the same mistakes.
        files_of = ((member.config["detector"], member.config["field"]) for member in members)
        distinct = {json.dumps(files, sort_keys=True): files for files in files_of}
        lines = (line for files in distinct.values() for line in input_problems(*files, folder))
        problems = list(dict.fromkeys(lines))
    if problems:
        raise ParkfError(together(problems))
    reported = members
    if "rounds" in config:
        ended = have_ended(config["family"], len(members), config["rounds"], folder)
        reported = members[-1:] if ended else []
    return Family(config["family"], tuple(members), tuple(reported))


def read_family(path: Path, folder: Path) -> Family:
    """Read a family's configuration, and check all files that its members name.

    A ParkfError reports each mistake in it. If the file is missing, it lists the families that exist.
    """
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml"))) or "none"
        raise ParkfError(f"{path}: no such configuration of a family; there are {there}")
    document = read_document(path)
    if not isinstance(document.content, dict):
        raise ParkfError(f"{path}: got {got(document.content)}, expected the configuration of a family")
    return load_family(document.content, folder, document, look_into_inputs=True)


def expand(family: str, base: Mapping[str, Any], conditions: Mapping[str, Mapping[str, Any]]) -> list[Member]:
    """Return a member for each condition: by its name, the part of a configuration laid over the base."""
    return [
        Member(name, merged(base, part) | {"run": f"{family}.{name}"}, dict(leaves(part)))
        for name, part in conditions.items()
    ]


def leaves(part: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the keys of a nested mapping, joined by dots, and their values."""
    for key, value in part.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
