"""What keeps a new set from replacing a published one unless the publisher names it."""

import json

from parkf.params.manifest import Manifest

_DETECTOR = ("geometry", "alignment", "field")
# Keys of the configuration that say how much a set was trained on. Of a list its length counts.
_STATISTICS = "events.training", "polarities", "training.max_rows", "training.rays", "training.closure.tracks"


def differences(new: Manifest, old: Manifest) -> list[str]:
    """Name what detector or statistics a new set has other than an old one, or less; empty if nothing."""
    others = [f"another {name}" for name in _DETECTOR if new.inputs.get(name) != old.inputs.get(name)]
    amounts = ((key, _amount(new, key), _amount(old, key)) for key in _STATISTICS)
    fewer = [
        f"{key} {'unknown' if mine is None else f'{mine:,.10g}'} instead of {its:,.10g}"
        for key, mine, its in amounts
        if its is not None and (mine is None or mine < its)
    ]
    return others + fewer


def _amount(manifest: Manifest, key: str) -> float | None:
    value = json.loads((manifest.configuration or {}).get(key, "null"))
    return len(value) if isinstance(value, list) else value if isinstance(value, int | float) else None
