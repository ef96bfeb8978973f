"""``parkf params validate``, ``publish`` and ``withdraw``."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.params.common import (
    NO,
    NO_ANSWER,
    Json,
    RegistryFolder,
    Set,
    exit_on_error,
    registry_in,
    say,
    state_of,
)
from parkf.cli.commands.params.gates import GATES, GatesFile, gate_table, measured_gates

# Where new sets go, unlike those that are read, which may be the ones that parkf ships.
PARAMS = Path("params")
OwnRegistry = Annotated[Path, typer.Option("--registry", help="Folder of published sets.")]


def validate(
    name: Set, registry: RegistryFolder = None, gates: GatesFile = GATES, as_json: Json = False
) -> None:
    """Say whether a set is whole and meets its gates; exits with 1 when it does not.

    A published set has its gates in its manifest. The figures of another are in validation.json and
    accuracy.json of its run, beside its folder.
    """
    from parkf.params.parameter_set import load

    with exit_on_error(NO_ANSWER):
        path = registry_in(registry).find(name)
    with exit_on_error(NO):
        manifest = load(path).manifest
        state, reason = state_of(path, manifest.state)
        held = manifest.gates or measured_gates(path, gates)
    met = all(one.met for one in held) and state != "withdrawn"
    if state == "open" and met:
        state = "validated"
    content = {"set": str(path), "state": state, "valid": met, "withdrawn": reason}
    content |= {"gates": [one.model_dump() for one in held]}
    verdict = f"{path}: {state}" + ("" if met else ", NOT valid") + ("" if reason is None else f": {reason}")
    say(as_json, content, lambda: f"{gate_table(held)}\n\n{verdict}")
    if not met:
        raise typer.Exit(NO)


def publish(
    parameters: Annotated[
        Path, typer.Argument(help="Folder of a set, beside validation.json and accuracy.json.")
    ],
    year: Annotated[
        int | None, typer.Option(min=2000, max=9999, help="Of the data it is for; this one.")
    ] = None,
    first_run: Annotated[int | None, typer.Option(min=0, help="First run that it is for.")] = None,
    last_run: Annotated[int | None, typer.Option(min=0, help="Last run that it is for.")] = None,
    first_time: Annotated[
        str | None, typer.Option(help="From when on, instead of runs: 2026-05-03T12:00Z.")
    ] = None,
    last_time: Annotated[str | None, typer.Option(help="Until when, this second included.")] = None,
    registry: OwnRegistry = PARAMS,
    gates: GatesFile = GATES,
    as_json: Json = False,
) -> None:
    """Publish a set under the next free name, if it meets its gates."""
    from parkf.params.manifest import read_manifest
    from parkf.params.parameter_set import MANIFEST_FILE
    from parkf.params.registry import Registry
    from parkf.params.validity import validity_of
    from parkf.proof.comparing.documents import publish_documents

    with exit_on_error(NO_ANSWER):
        runs = {"first_run": first_run, "last_run": last_run}
        limits = {**runs, "first_time": first_time, "last_time": last_time}
        given = {name: value for name, value in limits.items() if value is not None}
        validity = validity_of(given) if given else None
    with exit_on_error(NO):
        held = measured_gates(parameters, gates)
        version = Registry(registry).publish(
            parameters, year=year or datetime.now(UTC).year, gates=held, validity=validity
        )
        publish_documents(
            parameters.absolute().parent, read_manifest(registry / version / MANIFEST_FILE), registry
        )
    path = registry / version
    say(as_json, {"version": version, "path": str(path)}, lambda: f"published {path}")


def withdraw(
    version: str,
    reason: Annotated[str, typer.Option(help="What is wrong with the set.")],
    registry: OwnRegistry = PARAMS,
) -> None:
    """Say that a published set must not be used any more; its files stay."""
    from parkf.params.registry import Registry

    with exit_on_error(NO):
        Registry(registry).withdraw(version, reason)
    print(f"withdrawn {registry / version}")
