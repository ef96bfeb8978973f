"""``parkf params show``."""

from typing import TYPE_CHECKING, Annotated

import typer

from parkf.cli.commands.params.common import (
    NO_ANSWER,
    Json,
    RegistryFolder,
    Set,
    exit_on_error,
    registry_in,
    say,
    short,
    state_of,
)
from parkf.cli.commands.params.gates import gate_table
from parkf.io.terminal import aligned

if TYPE_CHECKING:
    from parkf.params.manifest import Manifest

_HEADS = ("block", "set", "index", "name", "value", "error", "scale", "unit", "parity")


def show(
    name: Set,
    numbers: Annotated[bool, typer.Option("--numbers", help="Every number of the constant blob.")] = False,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Show what a set is made of."""
    from parkf.params.parameter_set import load
    from parkf.params.validity import Interval

    with exit_on_error(NO_ANSWER):
        path = registry_in(registry).find(name)
        manifest = load(path).manifest
        state, reason = state_of(path, manifest.state)
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
            parts.append(aligned(_HEADS, _described(manifest)))
        return "\n\n".join(parts)

    say(as_json, content, text)


def _described(manifest: "Manifest") -> list[tuple[object, ...]]:
    return [
        (
            *(block.name, one.label, index, n.name),
            *(f"{n.value:.9g}", short(n.error), f"{n.scale:g}", n.unit, n.parity),
        )
        for block in manifest.layout
        for one in block.sets
        for index, n in enumerate(one.numbers)
    ]
