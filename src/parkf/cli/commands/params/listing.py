"""``parkf params list`` and ``show``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkf.cli.commands.answers import NO_ANSWER, answer, exit_on_error, gate_table, rows_or, short
from parkf.cli.commands.options import Json, RegistryFolder, Set, registry_in
from parkf.io.errors import ParkfError
from parkf.io.terminal import aligned

if TYPE_CHECKING:
    from parkf.params.manifest import Manifest

_COLUMNS = ("version", "state", "forms", "detector", "validity", "created", "supersedes", "problem")
_OF_MANIFEST = ("forms", "detector", "created", "supersedes")
_NUMBER = ("block", "set", "index", "name", "value", "error", "scale", "unit", "parity")


def list_(registry: RegistryFolder = None, as_json: Json = False) -> None:
    """List published sets; exits with 1 where one is broken, and names it."""
    from parkf.params.validity import Interval

    sets = registry_in(registry)
    rows = []
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
            row |= dict.fromkeys(("validity", *_OF_MANIFEST))
            row |= {"state": "broken", "problem": str(error)}
        rows.append(row)
    whole = all(row["state"] != "broken" for row in rows)
    answer(as_json, rows, lambda: rows_or(f"{sets.folder}: no published sets", _COLUMNS, rows), yes=whole)


def show(
    name: Set,
    numbers: Annotated[bool, typer.Option("--numbers", help="Every number of the constant blob.")] = False,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Show what a set is made of."""
    from parkf.params.parameter_set import load
    from parkf.params.registry import state_of
    from parkf.params.validity import Interval

    with exit_on_error(NO_ANSWER):
        path = registry_in(registry).find(name)
        manifest = load(path).manifest
        state, reason = state_of(path, manifest)
        validity = str(Interval.of(manifest.validity))
    content = manifest.model_dump(mode="json") | {"state": state, "withdrawn": reason}
    facts = [
        ("set", path),
        ("version", manifest.version or "none"),
        ("state", state if reason is None else f"{state}: {reason}"),
        ("source", manifest.source),
        ("detector", manifest.detector),
        ("validity", validity),
        ("forms", f"{manifest.forms}, layout {manifest.layout_version}"),
        ("format", f"{manifest.format_version}, readers from {manifest.minimum_reader}"),
        ("made by", f"parkf {manifest.code_version}, {manifest.created or 'not published'}"),
        ("supersedes", manifest.supersedes or "none"),
        *((f"{blob} sha256", content["blobs"][blob]["sha256"]) for blob in ("constant", "table")),
    ]
    trained = [*manifest.inputs.items(), *(manifest.configuration or {}).items()]

    def text() -> str:
        width = 2 + max(len(what) for what, _ in (*facts, *trained))
        parts = ["\n".join(f"{what:<{width}}{value}" for what, value in part) for part in (facts, trained)]
        if manifest.gates:
            parts.append(gate_table(manifest.gates))
        if numbers:
            parts.append(aligned(_NUMBER, _numbers(manifest)))
        return "\n\n".join(parts)

    answer(as_json, content, text)


def _numbers(manifest: "Manifest") -> list[tuple[object, ...]]:
    return [
        (
            *(block.name, one.label, index, n.name),
            *(f"{n.value:.9g}", short(n.error), f"{n.scale:g}", n.unit, n.parity),
        )
        for block in manifest.layout
        for one in block.sets
        for index, n in enumerate(one.numbers)
    ]
