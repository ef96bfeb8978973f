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
    training, seed, forms = config["training"], config["seed"], config["forms"]
    polarities = sorted(config["polarities"])
    geometry = folder / config["detector"]["geometry"]
    beam, planes = _beam_and_planes(geometry, meaning_of(geometry))
    field = config["field"] | {"source": field_fingerprint(config["field"], folder)}
    documents = {name: meaning_of(folder / path) for name, path in config["detector"].items()}
    detector = documents | {"field": field}
    # Of the detector, only the position of the beams matters for collisions.
    events = config["events"]
    numbers = {kind: [events[kind], events["pile_up"]] for kind in ("training", "validation")}
    numbers |= dict.fromkeys(_SIGNALS, config["signals"])
    collisions = {
        kind: {"kind": kind, "beam": beam, "seed": seed, "number": number} for kind, number in numbers.items()
    }
    # Behind the transport: true states, and hits and candidates, which also depend on the pattern.
    states = {kind: detector | {"collisions": those} for kind, those in collisions.items()}
    hits = {kind: those | {"pattern": config["pattern"]} for kind, those in states.items()}
    hits["misaligned"] = hits["validation"] | {"misalignment": config["misalignment"]}
    # Rays of the magnet table start at the beam and end behind the magnet, so no layer matters.
    rays = {"planes": planes, "beam": beam, "rays": training["rays"], "seed": seed, "forms": forms}
    table = rays | {"field": field}
    datasets = {"datasets": training["datasets"]}
    if training["datasets"] == "simulate":
        datasets = states["training"] | {"max_rows": training["max_rows"], "polarities": polarities}
    fits = {"datasets": datasets, "table": table, "start_from": training["start_from"]}
    # Tracks of a particle gun with their full fits, for which no parameter matters.
    closure = training["closure"]
    tracks = detector | {"seed": seed, "tracks": None if closure is None else closure["tracks"]}
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
        # The table that is closed on the fit depends on all fits and their noise.
        "closed table": {
            "fits": fits,
            "tracks": tracks,
            "polarities": polarities,
            "closure": closure,
            "neighbour": training.get("neighbour"),
            "noise_scale": training["noise_scale"],
        },
        # The speed of the fit is a figure of the machine, and hardly depends on the tracks.
        "throughput": {"forms": forms, "polarities": polarities, "collisions": collisions["validation"]},
    }


@lru_cache(maxsize=64)
def _beam_and_planes(geometry: Path, _content: str) -> tuple[dict[str, Any], list[float]]:
    """Return the position of the beams and the planes before and behind the magnet; cached by content."""
    found = load_geometry(geometry)
    return found.beam.model_dump(), [found.z_in, found.z_out]
