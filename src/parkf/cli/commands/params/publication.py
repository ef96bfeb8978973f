"""``parkf params validate``, ``publish`` and ``withdraw``."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from parkf.cli.commands.answers import NO, NO_ANSWER, answer, exit_on_error, gate_table
from parkf.cli.commands.options import GATES, GatesFile, Json, RegistryFolder, Set, registry_in

if TYPE_CHECKING:
    from parkf.params.parameter_set import ParameterSet
    from parkf.params.registry import Registry

# Default folder of new sets. Sets to read may also be those that parkf ships.
PARAMS = Path("params")
OwnRegistry = Annotated[Path, typer.Option("--registry", help="Folder of published sets.")]


def validate(
    name: Set,
    registry: RegistryFolder = None,
    gates: GatesFile = GATES,
    client: Annotated[
        Literal["trigger"] | None,
        typer.Option(help="Export the set, and measure it in the arithmetic of this client instead."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="With --client: the run with the candidates; that of the set by default."),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(help="With --client: the set to compare with; the newest published one by default."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that a set is whole and meets its gates; exits with 1 when it does not.

    A published set has its gates in its manifest. The figures of another are in validation.json and
    accuracy.json of its run, next to its folder. With --client trigger, the set is exported, read and used
    as LHCb's trigger does.
    """
    from parkf.params.parameter_set import load
    from parkf.params.registry import state_of
    from parkf.proof.gates import hold, load_thresholds

    with exit_on_error(NO_ANSWER):
        path = registry_in(registry).find(name)
    if client is not None:
        with exit_on_error(NO):
            _validate_client(path, run, before, registry_in(registry), as_json=as_json)
        return
    with exit_on_error(NO):
        manifest = load(path).manifest
        state, reason = state_of(path, manifest)
        held = manifest.gates or hold(path, load_thresholds(gates))
    met = all(one.met for one in held) and state != "withdrawn"
    if state == "open" and met:
        state = "validated"
    content = {"set": str(path), "state": state, "valid": met, "withdrawn": reason}
    content |= {"gates": [one.model_dump() for one in held]}
    verdict = f"{path}: {state}" + ("" if met else ", NOT valid") + ("" if reason is None else f": {reason}")
    answer(as_json, content, lambda: f"{gate_table(held)}\n\n{verdict}", yes=met)


def _validate_client(
    path: Path, run: Path | None, before: str | None, registry: "Registry", *, as_json: bool
) -> None:
    from dataclasses import asdict

    from parkf.params.parameter_set import load
    from parkf.proof.trigger_client import client_gates

    parameters = load(path)
    other = load(registry.find(before)) if before else _before(parameters, path, registry)
    client, gates = client_gates(parameters, run or path.absolute().parent, other)
    met = all(one.met for one in gates)
    content: dict[str, Any] = {"set": str(path), "client": "trigger", "valid": met, **asdict(client)}
    content |= {"gates": [one.model_dump() for one in gates]}

    def text() -> str:
        figures = (
            f"{client.tracks} genuine tracks above 2 GeV and {client.ghosts} ghosts, in single precision",
            f"core of δp/p {client.core:.3%} ± {client.core_error:.3%}, its mean {client.bias:+.3%} ±"
            f" {client.bias_error:.3%}",
            f"width of the q/p pull {client.pull:.2f}; {client.not_finite['all']:.2%} of all become NaN",
        )
        verdict = f"{path}: {'good' if met else 'NOT good'} for the trigger"
        return "\n".join((*figures, "", gate_table(gates), "", verdict))

    answer(as_json, content, text, yes=met)


def _before(parameters: "ParameterSet", path: Path, registry: "Registry") -> "ParameterSet | None":
    """Return the newest published set of the trigger's forms for this detector, other than the set itself."""
    from parkf.params.manifest import read_manifest
    from parkf.params.parameter_set import MANIFEST_FILE, load

    for version in reversed(registry.versions()):
        folder = registry.path(version)
        manifest = read_manifest(folder / MANIFEST_FILE)
        same = (manifest.forms, manifest.detector) == (
            parameters.manifest.forms,
            parameters.manifest.detector,
        )
        if same and folder.absolute() != path.absolute():
            return load(folder)
    return None


def publish(
    parameters: Annotated[
        Path, typer.Argument(help="Folder of a set, next to validation.json and accuracy.json.")
    ],
    year: Annotated[
        int | None, typer.Option(min=2000, max=9999, help="Year of the data it is for; this year by default.")
    ] = None,
    first_run: Annotated[int | None, typer.Option(min=0, help="First run that it is for.")] = None,
    last_run: Annotated[int | None, typer.Option(min=0, help="Last run that it is for.")] = None,
    first_time: Annotated[
        str | None, typer.Option(help="Begin of the data, instead of runs: 2026-05-03T12:00Z.")
    ] = None,
    last_time: Annotated[str | None, typer.Option(help="End of the data, this second included.")] = None,
    registry: OwnRegistry = PARAMS,
    gates: GatesFile = GATES,
    as_json: Json = False,
) -> None:
    """Publish a set under the next free name, if it meets its gates.

    A set that the trigger can read is measured in the trigger's arithmetic, too, with the candidates of its
    run.
    """
    from parkf.params.manifest import read_manifest
    from parkf.params.parameter_set import MANIFEST_FILE, load
    from parkf.params.registry import Registry
    from parkf.params.validity import validity_of
    from parkf.proof.comparing.documents import publish_documents
    from parkf.proof.gates import hold, load_thresholds
    from parkf.proof.trigger_client import client_gates

    runs = {"first_run": first_run, "last_run": last_run}
    limits = {**runs, "first_time": first_time, "last_time": last_time}
    given = {name: value for name, value in limits.items() if value is not None}
    with exit_on_error(NO_ANSWER):
        validity = validity_of(given) if given else None
    with exit_on_error(NO):
        held, run = hold(parameters, load_thresholds(gates)), parameters.absolute().parent
        numbers = load(parameters)
        if numbers.manifest.forms == "production" and (run / "candidates").is_dir():
            held += client_gates(numbers, run, _before(numbers, parameters, Registry(registry)))[1]
        version = Registry(registry).publish(
            parameters, year=year or datetime.now(UTC).year, gates=held, validity=validity
        )
        path = registry / version
        publish_documents(parameters.absolute().parent, read_manifest(path / MANIFEST_FILE), registry)
    answer(as_json, {"version": version, "path": str(path)}, lambda: f"published {path}")


def withdraw(
    version: str,
    reason: Annotated[str, typer.Option(help="What is wrong with the set.")],
    registry: OwnRegistry = PARAMS,
) -> None:
    """Mark a published set as one that must not be used any more; its files stay."""
    from parkf.params.registry import Registry

    with exit_on_error(NO):
        Registry(registry).withdraw(version, reason)
    print(f"withdrawn {registry / version}")
