"""A run's configuration in the manifest: keys such as ``events.training``, with JSON values."""

import json
from collections.abc import Mapping
from typing import Any

from parkf.io.errors import ParkfError
from parkf.io.option_types import Client

_NOISE_SCALE = "training.noise_scale."
# Name of the closed table of `training.neighbour` in a manifest's inputs.
NEIGHBOURS_TABLE = "neighbour's closed table"


def flat(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Flatten nested keys with dots; equal configurations give equal text."""
    entries: dict[str, str] = {}
    for key, value in configuration.items():
        if isinstance(value, Mapping):
            entries |= {f"{key}.{inner}": text for inner, text in flat(value).items()}
        else:
            entries[key] = json.dumps(value, ensure_ascii=False)
    return entries


def nested(entries: Mapping[str, str]) -> dict[str, Any]:
    """Undo :func:`flat`; a value that is not JSON, or a key inside another's value, raises a ParkfError."""
    configuration: dict[str, Any] = {}
    for key, text in entries.items():
        *outer, last = key.split(".")
        inner = configuration
        for name in outer:
            inner = inner.setdefault(name, {})
            if not isinstance(inner, dict):
                raise ParkfError(f"configuration.{key}: lies inside the value of another key")
        try:
            inner[last] = json.loads(text)
        except ValueError as error:
            raise ParkfError(f"configuration.{key}: got {text:.40}, expected JSON") from error
    return configuration


def noise_scale(entries: Mapping[str, str] | None) -> dict[str, float]:
    """Return the factors on the noise of single steps, by kind of step; a missing kind has factor 1."""
    return {
        key.removeprefix(_NOISE_SCALE): float(json.loads(text))
        for key, text in (entries or {}).items()
        if key.startswith(_NOISE_SCALE)
    }


def only_polarity(entries: Mapping[str, str] | None) -> int | None:
    """Return the one polarity that a set was trained and proven with: +1 MagUp, −1 MagDown; else None."""
    names = json.loads((entries or {}).get("polarities", "[]"))
    return {"up": 1, "down": -1}[names[0]] if len(names) == 1 else None


def client(entries: Mapping[str, str] | None) -> Client:
    """Return the fitter that a set was trained for; older and imported sets are for parkf's own."""
    name: Client = json.loads((entries or {}).get("training.client", '"parkf"'))
    return name
