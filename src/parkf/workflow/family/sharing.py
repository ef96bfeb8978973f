"""Products that members of a family share: those for which all that decides them has the same fingerprint.

The first member with a fingerprint makes the product; others link to it. All members use the same code.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from parkf.detector.geometry import load_geometry
from parkf.io.fingerprints.meaning import meaning_of
from parkf.workflow.family.members import Member
from parkf.workflow.sources import field_fingerprint

_SIGNALS = ("jpsi", "d0")
_SEEN = {"hits": "hits", "candidates": "candidates", "full fits": "fitted/full"}
_SEEN_KINDS = ("validation", "misaligned", *_SIGNALS)
PRODUCTS = {
    "field": "field.npz",
    **{
        f"{kind} collisions": f"particles/{kind}_{{file}}.parquet"
        for kind in ("training", "validation", *_SIGNALS)
    },
    "table": "table/{file}",
    "training candidates": "candidates/training_{file}.parquet",
    "states": "states/training_{file}.parquet",
    "fates": "fates/validation_{file}.parquet",
    **{
        f"{kind} {what}": f"{folder}/{kind}_{{file}}.parquet"
        for kind in _SEEN_KINDS
        for what, folder in _SEEN.items()
    },
    "datasets": "datasets/{file}.parquet",
    "fits": "fits/{file}.json",
    "closure tracks": "closure-tracks/{file}.parquet",
    "closed table": "closure/{file}",
    "throughput": "throughput.json",
}
"""Files that a run makes and another may use as its own, in the order in which they are made.

Paths are in the run's folder, with the wildcard ``{file}`` where there are several files.
"""


def shared_keys(config: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Return the fingerprint of all that decides each of :data:`PRODUCTS`.

    `config` is a checked configuration, whose paths are relative to `folder`. A missing or broken input is a
    ParkfError.
    """
    deciding = _deciding(config, folder)
    return {
        product: hashlib.sha256(json.dumps(deciding[product], sort_keys=True).encode()).hexdigest()
        for product in PRODUCTS
    }


def sources(members: Iterable[Member], folder: Path) -> dict[str, dict[str, str]]:
    """Name the member that makes each product of each member, by the member's name and the product."""
    makers: dict[tuple[str, str], str] = {}
    return {
        member.name: {
            product: makers.setdefault((product, key), member.name)
            for product, key in shared_keys(member.config, folder).items()
        }
        for member in members
    }


def _deciding(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Collect all that decides each product."""
    training, seed, events = config["training"], config["seed"], config["events"]
    forms, polarities, closure = config["forms"], sorted(config["polarities"]), config["training"]["closure"]
    geometry = folder / config["detector"]["geometry"]
    beam, planes = _beam_and_planes(geometry, meaning_of(geometry))
    field = config["field"] | {"source": field_fingerprint(config["field"], folder)}
    detector = [field, {name: meaning_of(folder / path) for name, path in config["detector"].items()}]
    # Of the detector, only the position of the beams matters for collisions.
    collisions = {kind: [beam, seed, events[kind], events["pile_up"]] for kind in ("training", "validation")}
    collisions |= {kind: [beam, seed, config["signals"]] for kind in _SIGNALS}
    # Behind the transport: true states, and hits and candidates, which also depend on the pattern.
    states = {kind: [detector, those] for kind, those in collisions.items()}
    hits = {kind: [those, config["pattern"]] for kind, those in states.items()}
    hits["misaligned"] = [hits["validation"], config["misalignment"]]
    # Rays of the magnet table start at the beam and end behind the magnet, so no layer matters.
    table = [field, planes, beam, training["rays"], seed, forms]
    datasets = [training["datasets"]]
    if training["datasets"] == "simulate":
        datasets = [states["training"], training["max_rows"], polarities]
    fits = [datasets, table, training["start_from"]]
    # Tracks of a particle gun with their full fits, for which no parameter matters.
    tracks = [detector, seed, None if closure is None else closure["tracks"]]
    # The table that is closed on the fit depends on all fits and their noise.
    closed = [fits, tracks, polarities, closure, training.get("neighbour"), training["noise_scale"]]
    return {
        "field": field,
        **{f"{kind} collisions": those for kind, those in collisions.items()},
        "table": table,
        "training candidates": hits["training"],
        "states": states["training"],
        "fates": states["validation"],
        **{f"{kind} {what}": hits[kind] for kind in _SEEN_KINDS for what in _SEEN},
        "datasets": datasets,
        "fits": fits,
        "closure tracks": tracks,
        "closed table": closed,
        # The speed of the fit is a figure of the machine, and hardly depends on the tracks.
        "throughput": [forms, polarities, collisions["validation"]],
    }


@lru_cache(maxsize=64)
def _beam_and_planes(geometry: Path, _content: str) -> tuple[dict[str, Any], list[float]]:
    """Return the position of the beams and the planes before and behind the magnet; cached by content."""
    found = load_geometry(geometry)
    return found.beam.model_dump(), [found.z_in, found.z_out]
