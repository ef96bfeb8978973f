"""Families of runs: many alignments, fields and geometries, trained together with common products.

A member is a base configuration with some other settings. Members share a product if everything that decides
it has the same fingerprint: the first member with this fingerprint makes the product, and the others link to
it. All members use the same code.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

from parkf.detector.geometry import load_geometry
from parkf.io.documents.document import Document, read_document
from parkf.io.documents.messages import got, together
from parkf.io.documents.models import validated
from parkf.io.documents.position import Place
from parkf.io.errors import ParkfError
from parkf.io.fingerprints.meaning import meaning_of
from parkf.simulation.generate.decays import DECAYS, ELECTRONS, STRANGE
from parkf.workflow.config import load_config
from parkf.workflow.config_files import laid, merged, read_layers
from parkf.workflow.family_model import FamilyConfig
from parkf.workflow.inputs import input_problems
from parkf.workflow.rounds import have_ended, rounds
from parkf.workflow.sources import Detector, field_fingerprint

# Entries of an axis: by name, the part of a run's configuration that is laid over the base.
Axis = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Member:
    """A run of a family."""

    name: str  # the names of its entry on each axis, joined by ``_``
    config: dict[str, Any]  # complete
    own: dict[str, Any]  # values that differ from the base, by keys such as ``detector.alignment``
    labels: tuple[str, ...]  # name of its entry on each axis


@dataclass(frozen=True)
class Family:
    """Runs that are trained together; the first run makes the products that other runs share with it."""

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
    axes: dict[Place, Axis]
    if "rounds" in config:
        axes = {("rounds",): rounds(config["family"], config["rounds"], folder)}
        document = None
    elif "matrix" in config:
        axes = {("matrix", number): axis for number, axis in enumerate(config["matrix"])}
    else:
        axes = {("conditions",): config["conditions"]}
    members = expand(config["family"], laid(base), list(axes.values()))
    for member in members:
        places = [(*place, label) for place, label in zip(axes, member.labels, strict=True)]
        parts = [] if document is None else map(document.inside, places)
        try:
            load_config(member.config, folder, [*base, *parts])
        except ParkfError as error:
            problems += [f"member {member.name}: {line}" for line in str(error).splitlines()]
            continue
        files = Detector.of(member.config["detector"], "", folder)
        if files.dumps or files.conditions:
            what = "a family takes files of this project: parkf import geometry, parkf import alignment"
            problems.append(f"member {member.name}: detector: {what}")
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


def expand(family: str, base: Mapping[str, Any], axes: Sequence[Axis]) -> list[Member]:
    """Return a member for every combination of one entry of each axis; the last axis changes fastest.

    Two axes that set the same key, or two combinations with the same name, raise a ParkfError.
    """
    keys = [{key for own in axis.values() for key, _ in leaves(own)} for axis in axes]
    for one, other in combinations(keys, 2):
        if both := sorted(one & other):
            raise ParkfError(f"family: matrix: two axes set {', '.join(both)}; one of them has to")
    members: dict[str, Member] = {}
    for chosen in product(*(axis.items() for axis in axes)):
        labels = tuple(label for label, _ in chosen)
        name = "_".join(labels)
        if name in members:
            raise ParkfError(f"family: two members are called {name}; name them differently")
        config, own = dict(base), dict[str, Any]()
        for _, part in chosen:
            config = merged(config, part)
            own |= dict(leaves(part))
        members[name] = Member(name, config | {"run": f"{family}.{name}"}, own, labels)
    return list(members.values())


def leaves(part: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the keys of a nested mapping, joined by dots, and their values."""
    for key, value in part.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def sources(members: Iterable[Member], folder: Path) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the member that makes each product, and the product's files, by member and product."""
    makers: dict[tuple[str, str], str] = {}
    return {
        member.name: {
            product: (makers.setdefault((product, key), member.name), files)
            for product, (files, key) in shared_products(member.config, folder).items()
        }
        for member in members
    }


def shared_products(config: Mapping[str, Any], folder: Path) -> dict[str, tuple[str, str]]:
    """Return the products of a run that other runs may use, in the order in which they are made.

    Each has the path of its files in the run's folder, with the wildcard ``{file}`` if it has several files,
    and the fingerprint of everything that decides them. `config` is a checked configuration, whose paths are
    relative to `folder`. A missing or broken input raises a ParkfError.
    """
    training, seed, events = config["training"], config["seed"], config["events"]
    forms, polarities, closure = config["forms"], sorted(config["polarities"]), config["training"]["closure"]
    geometry = folder / config["detector"]["geometry"]
    beam, planes = _beam_and_planes(geometry, meaning_of(geometry))
    field = config["field"] | {"source": field_fingerprint(config["field"], folder)}
    detector = [field, {name: meaning_of(folder / path) for name, path in config["detector"].items()}]
    # Collisions depend on the detector only through the position of the beams.
    collisions = {kind: [beam, seed, events[kind], events["pile_up"]] for kind in ("training", "validation")}
    collisions |= {kind: [beam, seed, config["signals"]] for kind in DECAYS}
    # The transport makes true states; hits and candidates also depend on the pattern.
    states = {kind: [detector, those] for kind, those in collisions.items()}
    hits = {kind: [those, config["pattern"]] for kind, those in states.items()}
    seen = {
        "validation": hits["validation"],
        "misaligned": [hits["validation"], config["misalignment"]],
        "jpsi": hits["jpsi"],
        "d0": hits["d0"],
    }
    # Rays of the magnet table start at the beam and end behind the magnet, so no layer matters.
    table = [field, planes, beam, training["rays"], seed, forms]
    datasets = [training["datasets"]]
    if training["datasets"] == "simulate":
        datasets = [states["training"], training["max_rows"], polarities]
    fits = [datasets, table, training["start_from"]]
    # Tracks of a particle gun with their full fits do not depend on any parameter.
    tracks = [detector, seed, None if closure is None else closure["tracks"]]
    # The closed table depends on the fits of all steps and on their noise.
    closed = [fits, tracks, polarities, closure, training.get("neighbour"), training["noise_scale"]]
    products: dict[str, tuple[str, Any]] = {
        "field": ("field.npz", field),
        **{
            f"{kind} collisions": (f"particles/{kind}_{{file}}.parquet", those)
            for kind, those in collisions.items()
        },
        "table": ("table/{file}", table),
        "training candidates": ("candidates/training_{file}.parquet", hits["training"]),
        "states": ("states/training_{file}.parquet", states["training"]),
        "fates": ("fates/validation_{file}.parquet", states["validation"]),
        **{
            f"{kind} crossings": (f"crossings/{kind}_{{file}}.parquet", states[kind])
            for kind in ("validation", *STRANGE)
        },
        **{f"{kind} hits": (f"hits/{kind}_{{file}}.parquet", hits[kind]) for kind in (*ELECTRONS, *STRANGE)},
        **{
            f"{kind} {what}": (f"{place}/{kind}_{{file}}.parquet", those)
            for kind, those in seen.items()
            for what, place in (("hits", "hits"), ("candidates", "candidates"), ("full fits", "fitted/full"))
        },
        "datasets": ("datasets/{file}.parquet", datasets),
        "fits": ("fits/{file}.json", fits),
        "closure tracks": ("closure-tracks/{file}.parquet", tracks),
        "closed table": ("closure/{file}", closed),
        # The speed of the fit depends on the machine, and hardly on the tracks.
        "throughput": ("throughput.json", [forms, polarities, collisions["validation"]]),
    }
    return {
        product: (files, hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest())
        for product, (files, deciding) in products.items()
    }


@lru_cache(maxsize=64)
def _beam_and_planes(geometry: Path, _content: str) -> tuple[dict[str, Any], list[float]]:
    """Return the position of the beams and the planes before and behind the magnet; cached by content."""
    found = load_geometry(geometry)
    return found.beam.model_dump(), [found.magnet.z_in, found.magnet.z_out]
