"""Products that members of a family share: those for which all that decides them has the same fingerprint.

The first member with a fingerprint makes the product; others link to it. All members use the same code.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from parkf.detector.geometry import load_geometry
from parkf.io.errors import ParkfError
from parkf.io.fingerprints.meaning import meaning_of
from parkf.workflow.family.members import Member
from parkf.workflow.sources import field_fingerprint

Config = Mapping[str, Any]
# Values that decide a product, by name, from a configuration and the folder of its relative paths.
Deciding = Callable[[Config, Path], dict[str, Any]]


@dataclass(frozen=True)
class Product:
    """Files that a run makes and another may use as its own."""

    # Path in the run's folder, with the wildcard ``{file}`` where there are several files.
    files: str
    deciding: Deciding


@lru_cache(maxsize=64)
def _frame(geometry: Path, _content: str) -> tuple[dict[str, Any], list[float]]:
    """Return the position of the beams and the planes before and behind the magnet; cached by content."""
    found = load_geometry(geometry)
    return found.beam.model_dump(), [found.z_in, found.z_out]


def _beam_and_planes(config: Config, folder: Path) -> tuple[dict[str, Any], list[float]]:
    geometry = folder / config["detector"]["geometry"]
    return _frame(geometry, meaning_of(geometry))


def _documents(config: Config, folder: Path) -> dict[str, Any]:
    """Return the fingerprints of the meaning of geometry and alignment."""
    return {name: meaning_of(folder / path) for name, path in config["detector"].items()}


def _field(config: Config, folder: Path) -> dict[str, Any]:
    return config["field"] | {"source": field_fingerprint(config["field"], folder)}


def _collisions(kind: str) -> Deciding:
    """Decide collisions, for which only the position of the beams matters of the detector."""

    def deciding(config: Config, folder: Path) -> dict[str, Any]:
        number = config["signals"] if kind in _SIGNALS else [config["events"][n] for n in (kind, "pile_up")]
        beam, _ = _beam_and_planes(config, folder)
        return {"kind": kind, "beam": beam, "seed": config["seed"], "number": number}

    return deciding


def _passage(kind: str, *, hit: bool) -> Deciding:
    """Decide the detector's response without a parameter set: states, and with `hit` hits and candidates."""

    def deciding(config: Config, folder: Path) -> dict[str, Any]:
        misaligned = kind == "misaligned"
        return {
            **_documents(config, folder),
            "field": _field(config, folder),
            "collisions": _collisions("validation" if misaligned else kind)(config, folder),
            "misalignment": config["misalignment"] if misaligned else None,
            "pattern": config["pattern"] if hit else None,
        }

    return deciding


def _datasets(config: Config, folder: Path) -> dict[str, Any]:
    training = config["training"]
    if training["datasets"] != "simulate":
        return {"datasets": training["datasets"]}
    rest = {"max_rows": training["max_rows"], "polarities": sorted(config["polarities"])}
    return _passage("training", hit=False)(config, folder) | rest


def _table(config: Config, folder: Path) -> dict[str, Any]:
    """Decide the magnet table: its rays start at the beam and end behind the magnet, so no layer matters."""
    beam, planes = _beam_and_planes(config, folder)
    return {
        "field": _field(config, folder),
        "planes": planes,
        "beam": beam,
        "rays": config["training"]["rays"],
        "seed": config["seed"],
        "forms": config["forms"],
    }


def _fits(config: Config, folder: Path) -> dict[str, Any]:
    return {
        "datasets": _datasets(config, folder),
        "table": _table(config, folder),
        "forms": config["forms"],
        "start_from": config["training"]["start_from"],
    }


def _closure_tracks(config: Config, folder: Path) -> dict[str, Any]:
    """Decide tracks of a particle gun with their full fits; no parameter matters."""
    closure = config["training"]["closure"]
    tracks = None if closure is None else closure["tracks"]
    return {
        **_documents(config, folder),
        "field": _field(config, folder),
        "seed": config["seed"],
        "tracks": tracks,
    }


def _closed(config: Config, folder: Path) -> dict[str, Any]:
    """Decide the table that was closed on the fit; it depends on all fits and their noise."""
    training = config["training"]
    return {
        "fits": _fits(config, folder),
        "tracks": _closure_tracks(config, folder),
        "polarities": sorted(config["polarities"]),
        "closure": training["closure"],
        "neighbour": training.get("neighbour"),
        "noise_scale": training["noise_scale"],
    }


def _throughput(config: Config, folder: Path) -> dict[str, Any]:
    """Decide the speed of the fit, a figure of the machine; it hardly depends on the tracks."""
    return {
        "forms": config["forms"],
        "polarities": sorted(config["polarities"]),
        "collisions": _collisions("validation")(config, folder),
    }


_SIGNALS = ("jpsi", "d0")
_SEEN = ("validation", "misaligned", *_SIGNALS)
# In the order in which they are made.
PRODUCTS: dict[str, Product] = {
    "field": Product("field.npz", _field),
    **{
        f"{kind} collisions": Product(f"particles/{kind}_{{file}}.parquet", _collisions(kind))
        for kind in ("training", "validation", *_SIGNALS)
    },
    "table": Product("table/{file}", _table),
    "training candidates": Product("candidates/training_{file}.parquet", _passage("training", hit=True)),
    "states": Product("states/training_{file}.parquet", _passage("training", hit=False)),
    "fates": Product("fates/validation_{file}.parquet", _passage("validation", hit=False)),
    **{
        f"{kind} {what}": Product(f"{folder}/{kind}_{{file}}.parquet", _passage(kind, hit=True))
        for kind in _SEEN
        for what, folder in (("hits", "hits"), ("candidates", "candidates"), ("full fits", "fitted/full"))
    },
    "datasets": Product("datasets/{file}.parquet", _datasets),
    "fits": Product("fits/{file}.json", _fits),
    "closure tracks": Product("closure-tracks/{file}.parquet", _closure_tracks),
    "closed table": Product("closure/{file}", _closed),
    "throughput": Product("throughput.json", _throughput),
}


def shared_key(config: Config, product: str, folder: Path) -> str:
    """Return the fingerprint of all that decides a product of :data:`PRODUCTS`.

    `config` is a checked configuration, whose paths are relative to `folder`. An unknown product and a
    missing or broken input are a ParkfError.
    """
    if product not in PRODUCTS:
        raise ParkfError(f"product '{product}' does not exist, expected one of {', '.join(PRODUCTS)}")
    deciding = {"product": product} | PRODUCTS[product].deciding(config, folder)
    return hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()


def sources(members: Iterable[Member], folder: Path) -> dict[str, dict[str, str]]:
    """Name the member that makes each product of each member, by the member's name and the product."""
    makers: dict[str, str] = {}
    return {
        member.name: {
            product: makers.setdefault(shared_key(member.config, product, folder), member.name)
            for product in PRODUCTS
        }
        for member in members
    }
