"""``parkf params list``."""

from typing import Any

import typer

from parkf.cli.commands.params.common import NO, Json, RegistryFolder, registry_in, say
from parkf.io.errors import ParkfError
from parkf.io.terminal import aligned

_COLUMNS = ("version", "state", "forms", "detector", "validity", "created", "supersedes", "problem")
_OF_MANIFEST = ("forms", "detector", "created", "supersedes")


def list_(registry: RegistryFolder = None, as_json: Json = False) -> None:
    """List published sets; a broken one is named, and makes it exit with 1."""
    from parkf.params.validity import Interval

    sets = registry_in(registry)
    rows, broken = [], False
    for version in sets.versions():
        row: dict[str, Any] = {"version": version}
        try:
            manifest = sets.load(version).manifest
            withdrawal = sets.withdrawal(version)
            row |= {"state": "published" if withdrawal is None else "withdrawn"}
            row |= {name: getattr(manifest, name) for name in _OF_MANIFEST}
            row |= {"validity": str(Interval.of(manifest.validity))}
            row |= {"problem": None if withdrawal is None else withdrawal.reason}
        except ParkfError as error:
            broken = True
            row |= dict.fromkeys(("validity", *_OF_MANIFEST))
            row |= {"state": "broken", "problem": str(error)}
        rows.append(row)

    def text() -> str:
        if not rows:
            return f"{sets.folder}: no published sets"
        return aligned(_COLUMNS, [[row[c] for c in _COLUMNS] for row in rows])

    say(as_json, rows, text)
    if broken:
        raise typer.Exit(NO)
