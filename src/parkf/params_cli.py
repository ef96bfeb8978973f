"""``parkf params``: published parameter sets, and their exchange with others.

Exit codes: 0 for yes or done; 1 for no: sets differ, a set is not valid, a publication is refused; 2 where
there is no answer: wrong usage, or files that cannot be read.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkf.errors import ParkfError
from parkf.terminal import aligned

if TYPE_CHECKING:
    from parkf.parameters.comparison import Comparison
    from parkf.parameters.effect import Change
    from parkf.parameters.manifest import Gate

app = typer.Typer(help="Published parameter sets, and their exchange with others.", no_args_is_help=True)

NO, NO_ANSWER = 1, 2

Set = Annotated[str, typer.Argument(metavar="SET", help="Version in the registry, or a set's folder.")]
RegistryFolder = Annotated[Path, typer.Option("--registry", help="Folder of published sets.")]
Json = Annotated[bool, typer.Option("--json", help="For machines.")]
PARAMS = Path("params")


@app.command("list")
def list_(registry: RegistryFolder = PARAMS, as_json: Json = False) -> None:
    """List published sets; a broken one is named, and makes it exit with 1."""
    from parkf.parameters.registry import Registry

    sets = Registry(registry)
    rows, broken = [], False
    for version in sets.versions():
        row: dict[str, Any] = {"version": version}
        try:
            manifest = sets.load(version).manifest
            withdrawal = sets.withdrawal(version)
            row |= {"state": "published" if withdrawal is None else "withdrawn"}
            row |= {name: getattr(manifest, name) for name in ("forms", "detector", "created", "supersedes")}
            row |= {"problem": None if withdrawal is None else withdrawal.reason}
        except ParkfError as error:
            broken = True
            row |= dict.fromkeys(("forms", "detector", "created", "supersedes"))
            row |= {"state": "broken", "problem": str(error)}
        rows.append(row)
    columns = ("version", "state", "forms", "detector", "created", "supersedes", "problem")
    _print(as_json, rows, lambda: aligned(columns, [[row[c] for c in columns] for row in rows]))
    if broken:
        raise typer.Exit(NO)


@app.command()
def show(
    name: Set,
    numbers: Annotated[bool, typer.Option("--numbers", help="Every number of the constant blob.")] = False,
    registry: RegistryFolder = PARAMS,
    as_json: Json = False,
) -> None:
    """Show what a set is made of."""
    from parkf.parameters.parameter_set import load
    from parkf.parameters.registry import Registry

    with _exit_on_error(NO_ANSWER):
        path = Registry(registry).find(name)
        manifest = load(path).manifest
        state, reason = _state(path, manifest.state)
    content = manifest.model_dump(mode="json") | {"state": state, "withdrawn": reason}
    facts = [
        ("set", path),
        ("version", manifest.version or "none"),
        ("state", state if reason is None else f"{state}: {reason}"),
        ("source", manifest.source),
        ("detector", manifest.detector),
        ("validity", _validity(content["validity"])),
        ("forms", f"{manifest.forms}, layout {manifest.layout_version}"),
        ("format", f"{manifest.format_version}, readers from {manifest.minimum_reader}"),
        ("made by", f"parkf {manifest.code_version}, {manifest.created or 'not published'}"),
        ("supersedes", manifest.supersedes or "none"),
        *((f"{blob} sha256", content["blobs"][blob]["sha256"]) for blob in ("constant", "table")),
        *manifest.inputs.items(),
    ]
    described = [
        (
            block.name,
            one.label,
            index,
            n.name,
            f"{n.value:.9g}",
            _short(n.error),
            f"{n.scale:g}",
            n.unit,
            n.parity,
        )
        for block in manifest.layout
        for one in block.sets
        for index, n in enumerate(one.numbers)
    ]
    heads = ("block", "set", "index", "name", "value", "error", "scale", "unit", "parity")

    def text() -> str:
        parts = ["\n".join(f"{what:<16}{value}" for what, value in facts)]
        if manifest.gates:
            parts.append(_gate_table(manifest.gates))
        if numbers:
            parts.append(aligned(heads, described))
        return "\n\n".join(parts)

    _print(as_json, content, text)


@app.command()
def diff(
    first: Set,
    second: Set,
    most: Annotated[int, typer.Option(min=1, help="Numbers to print.")] = 20,
    registry: RegistryFolder = PARAMS,
    as_json: Json = False,
) -> None:
    """Compare two sets: numbers in units of their errors, predicted states in units of the scattering."""
    from parkf.parameters.comparison import compare
    from parkf.parameters.effect import changes, table_map
    from parkf.parameters.parameter_set import load
    from parkf.parameters.registry import Registry

    with _exit_on_error(NO_ANSWER):
        sets = Registry(registry)
        a, b = (load(sets.find(name)) for name in (first, second))
        found = compare(a, b)
        effect = [] if found.identical else changes(a, b)
        shift = None if found.identical else table_map(a, b)
    content = {
        "identical": found.identical,
        **asdict(found),
        "states": [asdict(change) for change in effect],
        "table_map_mm": None if shift is None else shift.tolist(),
    }
    _print(as_json, content, lambda: _difference_text(found, effect, shift, most))
    if not found.identical:
        raise typer.Exit(NO)


@app.command()
def validate(name: Set, registry: RegistryFolder = PARAMS, as_json: Json = False) -> None:
    """Say whether a set is whole and meets its gates; exits with 1 when it does not.

    The figures of a set that is not published are in validation.json and accuracy.json of its run, beside its
    folder.
    """
    from parkf.parameters.parameter_set import load
    from parkf.parameters.registry import Registry

    with _exit_on_error(NO_ANSWER):
        path = Registry(registry).find(name)
    with _exit_on_error(NO):
        manifest = load(path).manifest
        state, reason = _state(path, manifest.state)
        gates = manifest.gates or measured_gates(path.absolute().parent)
    met = all(gate.met for gate in gates) and state != "withdrawn"
    if state == "open" and met:
        state = "validated"
    content = {"set": str(path), "state": state, "valid": met, "withdrawn": reason}
    content |= {"gates": [gate.model_dump() for gate in gates]}
    verdict = f"{path}: {state}" + ("" if met else ", NOT valid") + ("" if reason is None else f": {reason}")
    _print(as_json, content, lambda: f"{_gate_table(gates)}\n\n{verdict}")
    if not met:
        raise typer.Exit(NO)


@app.command()
def publish(
    parameters: Annotated[
        Path, typer.Argument(help="Folder of a set, beside validation.json and accuracy.json.")
    ],
    year: Annotated[
        int | None, typer.Option(min=2000, max=9999, help="Of the data it is for; this one.")
    ] = None,
    first_run: Annotated[int | None, typer.Option(min=0, help="First run that it is for.")] = None,
    last_run: Annotated[int | None, typer.Option(min=0, help="Last run that it is for.")] = None,
    registry: RegistryFolder = PARAMS,
    as_json: Json = False,
) -> None:
    """Publish a set under the next free name, if it meets its gates."""
    from parkf.parameters.manifest import Validity
    from parkf.parameters.registry import Registry

    if first_run is not None and last_run is not None and first_run > last_run:
        raise typer.BadParameter(f"--first-run {first_run} is after --last-run {last_run}")
    validity = Validity(first_run=first_run, last_run=last_run, first_time=None, last_time=None)
    given = None if first_run is None and last_run is None else validity
    with _exit_on_error(NO):
        gates = measured_gates(parameters.absolute().parent)
        version = Registry(registry).publish(
            parameters, year=year or datetime.now(UTC).year, gates=gates, validity=given
        )
    _print(
        as_json,
        {"version": version, "path": str(registry / version)},
        lambda: f"published {registry / version}",
    )


@app.command()
def withdraw(
    version: str,
    reason: Annotated[str, typer.Option(help="What is wrong with the set.")],
    registry: RegistryFolder = PARAMS,
) -> None:
    """Say that a published set must not be used any more; its files stay."""
    from parkf.parameters.registry import Registry

    with _exit_on_error(NO):
        Registry(registry).withdraw(version, reason)
    print(f"withdrawn {registry / version}")


@app.command()
def export(
    name: Set,
    folder: Annotated[Path, typer.Argument(help="Where params.json and params_UTT_v0.tab go.")],
    registry: RegistryFolder = PARAMS,
) -> None:
    """Write a set of production's forms as the trigger reads it."""
    from parkf.parameters.exchange import export_trigger
    from parkf.parameters.parameter_set import load
    from parkf.parameters.registry import Registry

    with _exit_on_error(NO_ANSWER):
        export_trigger(load(Registry(registry).find(name)), folder)
    print(f"exported to {folder}")


@app.command("import")
def import_(
    source: Annotated[
        Path, typer.Argument(help="Folder with the trigger's files, or with the older text files.")
    ],
    output: Annotated[Path, typer.Argument(help="Folder of the new set.")],
    rest: Annotated[str | None, typer.Option(help="Set for what the files lack: version or folder.")] = None,
    registry: RegistryFolder = PARAMS,
) -> None:
    """Make a set of the trigger's params.json and params_UTT_v0.tab, or of its older text files."""
    from parkf.parameters.exchange import import_text_files, import_trigger
    from parkf.parameters.exchange.text_files import FILES, usage
    from parkf.parameters.parameter_set import load
    from parkf.parameters.registry import Registry

    with _exit_on_error(NO_ANSWER):
        other = None if rest is None else load(Registry(registry).find(rest))
        if not (source / FILES[0].name).is_file():
            import_trigger(source, rest=other).save(output)
        elif other is None:
            raise ParkfError(
                f"{source}: older text files lack the magnet table and more; name a set with --rest"
            )
        else:
            import_text_files(source, rest=other).save(output)
            print("\n".join(usage()))
    print(f"imported to {output}")


@app.command()
def header(output: Annotated[Path, typer.Argument(help="The header to write.")]) -> None:
    """Write one C++17 header that loads sets and fits tracks, without parkf."""
    from parkf.consumer import cpp_header
    from parkf.files import replacing

    with replacing(output) as temporary:
        temporary.write_text(cpp_header())
    print(f"written {output}")


def measured_gates(run: Path) -> "list[Gate]":
    """Hold the figures of a run's folder against their bars.

    Raises
    ------
    ParkfError
        When the run has no figures.
    """
    from parkf.files import read_json
    from parkf.parameters.manifest import Gate
    from parkf.report.verdict import verdict

    try:
        validation, accuracy = (read_json(run / f"{name}.json") for name in ("validation", "accuracy"))
        lines = verdict(validation, accuracy["table"]["fiducial"])
    except (KeyError, TypeError) as error:
        raise ParkfError(
            f"{run}: validation.json or accuracy.json lacks {error}; run the validation"
        ) from error
    return [Gate(what=line.what, measured=line.measured, bar=line.bar, met=bool(line.met)) for line in lines]


def _state(path: Path, state: str) -> tuple[str, str | None]:
    """State of a set, and why it was withdrawn."""
    from parkf.parameters.registry import Registry

    withdrawal = Registry(path.parent).withdrawal(path.name) if state == "published" else None
    return (state, None) if withdrawal is None else ("withdrawn", withdrawal.reason)


def _difference_text(found: "Comparison", effect: "list[Change]", shift: Any, most: int) -> str:
    if found.identical:
        return "identical"
    parts = []
    if found.forms[0] != found.forms[1]:
        parts.append(f"forms: {found.forms[0]} and {found.forms[1]}")
    parts += [f"{name}: {a:g} and {b:g}" for name, (a, b) in found.constants.items()]
    ordered = sorted(found.differences, key=lambda d: -abs(d.pull or 0.0))
    rows = [
        (d.block, d.set, d.name, _short(d.first), _short(d.second), _short(d.pull)) for d in ordered[:most]
    ]
    parts.append(
        f"{len(found.differences)} numbers differ" + (f", of which {most}" if len(ordered) > most else "")
    )
    parts.append(aligned(("block", "set", "name", "first", "second", "in errors"), rows))
    parts.append("predicted states, RMS of their change in units of the scattering")
    parts.append(_effect_table(effect))
    parts.append(f"{found.table} coefficients of the magnet table differ, by {found.table_largest:g} at most")
    parts.append(
        "x behind the magnet, largest change in mm at 5 GeV, by x/x_max (right) and y/y_max (down) at z_in"
    )
    coarse = abs(shift).reshape(10, 6, 10, 5).max(axis=(1, 3))
    places = [f"{place / 10:.1f}" for place in range(-9, 10, 2)]
    cells = zip(places, coarse.T, strict=True)
    parts.append(aligned(["", *places], [[y, *(f"{cell:.3g}" for cell in row)] for y, row in cells]))
    return "\n\n".join(parts)


def _effect_table(effect: "list[Change]") -> str:
    bins = list(dict.fromkeys((c.p_min, c.p_max) for c in effect))
    values = {(c.step, c.component, c.p_min): f"{c.rms:.3f}" for c in effect}
    places = dict.fromkeys((c.step, c.component) for c in effect)
    rows = [
        (step, component, *(values.get((step, component, low)) for low, _ in bins))
        for step, component in places
    ]
    return aligned(("step", "", *(f"{low:g}-{high:g} GeV" for low, high in bins)), rows)


def _gate_table(gates: "list[Gate]") -> str:
    rows = [("met" if gate.met else "MISSED", gate.what, gate.measured, gate.bar) for gate in gates]
    return aligned(("", "gate", "measured", "bar"), rows)


def _validity(validity: dict[str, Any]) -> str:
    limits = [f"{name.replace('_', ' ')} {value}" for name, value in validity.items() if value is not None]
    return ", ".join(limits) or "all data"


def _short(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def _print(as_json: bool, content: Any, text: Callable[[], str]) -> None:
    print(json.dumps(content, indent=1, ensure_ascii=False) if as_json else text())


@contextmanager
def _exit_on_error(code: int) -> Iterator[None]:
    try:
        yield
    except ParkfError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(code) from error
