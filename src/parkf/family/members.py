"""The members of a family: a base configuration, and what each one has of its own."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from parkf.errors import ParkfError
from parkf.files import existing
from parkf.workflow import load_config

# By name: part of a run's configuration, laid over the base.
Axis = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Member:
    """A run of a family.

    Attributes
    ----------
    name : str
        Among the members: the names along the axes, joined by ``_``.
    config : dict
        The run's whole configuration.
    own : dict of str to Any
        What the base has not, by key: ``detector.alignment``.
    """

    name: str
    config: dict[str, Any]
    own: dict[str, Any]


@dataclass(frozen=True)
class Family:
    """Runs that are trained together; the first one makes what others share with it."""

    name: str
    members: tuple[Member, ...]


def load_family(config: Mapping[str, Any], schemas: Path, folder: Path) -> Family:
    """Check a family's configuration, and expand it.

    Parameters
    ----------
    config : mapping
        As read from YAML.
    schemas : Path
        Folder with the JSON schemas of families and of runs.
    folder : Path
        Where the runs take place; input paths are relative to it.

    Raises
    ------
    ParkfError
        With a line for each mistake, in the family's configuration or in that of a member.
    """
    schema = json.loads((schemas / "family.schema.json").read_text())
    problems = [
        f"family: {'.'.join(map(str, error.absolute_path)) or 'top level'}: {error.message}"
        for error in Draft202012Validator(schema).iter_errors(dict(config))
    ]
    if problems:
        raise ParkfError("\n".join(sorted(problems)))
    base = yaml.safe_load(existing(folder / config["base"]).read_text())
    axes = config["matrix"] if "matrix" in config else [config["conditions"]]
    members = expand(config["family"], base, axes)
    for member in members:
        try:
            load_config(member.config, schemas / "config.schema.json", folder)
        except ParkfError as error:
            lines = (f"member {member.name}: {line}" for line in str(error).splitlines())
            problems.append("\n".join(lines))
    if problems:
        raise ParkfError("\n".join(problems))
    return Family(config["family"], tuple(members))


def expand(family: str, base: Mapping[str, Any], axes: Sequence[Axis]) -> list[Member]:
    """Give a member for every combination of one entry of each axis, the last axis turning fastest.

    Raises
    ------
    ParkfError
        When two axes set the same key, or two combinations have the same name.
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
        members.append(Member(name, config | {"run": f"{family}.{name}"}, own))
    return members


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one nested mapping over another; lists and single values are replaced."""
    result = dict(below)
    for key, value in above.items():
        inner = result.get(key)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            value = merged(inner, value)
        result[key] = value
    return result


def leaves(part: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Go through a nested mapping: keys joined by dots, and their values."""
    for key, value in part.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
