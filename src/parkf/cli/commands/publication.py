"""``parkf params``: validation, publication and withdrawal of sets, and exchange with other programs."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from parkf.cli.commands.options import (
    GATES,
    GatesFile,
    Json,
    RegistryFolder,
    Set,
    Withdrawn,
    registry_in,
)
from parkf.cli.commands.params import app
from parkf.cli.messages import NO, NO_ANSWER, exit_on_error, gate_table, print_answer, refuse_foreign
from parkf.io.errors import ParkfError
from parkf.io.files import replacing
from parkf.io.option_types import UtRows
from parkf.io.project import found
from parkf.io.terminal import say

# Default folder of new sets. Sets to read may also be those that parkf ships.
PARAMS = Path("params")
OwnRegistry = Annotated[Path, Option("--registry", help="Folder of published sets.")]


@app.command(
    epilog="Example: parkf params validate 2026-run3-like-2-r010 --client trigger --run results/default"
)
def validate(
    name: Set,
    client: Annotated[Literal["trigger"], Option(help="Program that the set is measured for.")] = "trigger",
    run: Annotated[Path | None, Option(help="Run of the candidates, else the set's.")] = None,
    before: Annotated[str | None, Option(help="Set to compare with, else the newest.")] = None,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Export a set, read it and fit with it as LHCb's trigger does; exits with 1 if it misses a bar.

    The gates of a run are those of `parkf gate`, and `parkf params show` has those of a published set.
    """
    from parkf.params.parameter_set import load
    from parkf.proof.trigger_client import client_gates

    with exit_on_error(NO_ANSWER):
        sets = registry_in(registry)
        path = sets.find(name)
    with exit_on_error(NO):
        parameters = load(path, withdrawn=True)
        before = before or sets.newest_alike(parameters.manifest, apart_from=path)
        other = load(sets.find(before)) if before else None
        found, gates = client_gates(parameters, run or path.absolute().parent, other)
    met = all(one.met for one in gates)
    content: dict[str, Any] = {"set": str(path), "client": client, "valid": met, **found}
    content |= {"gates": [one.model_dump() for one in gates]}
    text = (
        f"{found['tracks']} genuine tracks above 2 GeV and {found['ghosts']} ghosts, in single precision\n"
        f"core of δp/p {found['core']:.3%} ± {found['core_error']:.3%}, its mean {found['bias']:+.3%} ±"
        f" {found['bias_error']:.3%}\n"
        f"width of the q/p pull {found['pull']:.2f}; {found['not_finite']['all']:.2%} of all become NaN\n\n"
        f"{gate_table(gates)}\n\n{path}: {'good' if met else 'NOT good'} for the trigger"
    )
    print_answer(as_json, content, text, yes=met)


@app.command(epilog="Example: parkf params publish results/default/set --first-run 300100")
def publish(
    parameters: Annotated[Path, Argument(help="Folder of a set, next to validation.json and accuracy.json.")],
    year: Annotated[int | None, Option(min=2000, max=9999, help="Year of the data; else this year.")] = None,
    first_run: Annotated[int | None, Option(min=0, help="First run that the set is for.")] = None,
    last_run: Annotated[int | None, Option(min=0, help="Last run that the set is for.")] = None,
    first_time: Annotated[str | None, Option(help="Begin of the data, such as 2026-05-03T12:00Z.")] = None,
    last_time: Annotated[str | None, Option(help="End of the data, this second included.")] = None,
    supersede: Annotated[
        list[str] | None, Option(help="Set to replace by one with less, or for another detector; repeatable.")
    ] = None,
    registry: OwnRegistry = PARAMS,
    gates: GatesFile = GATES,
    as_json: Json = False,
) -> None:
    """Publish a set under the next free name, if it meets its gates.

    It replaces other sets where it is for the same data. A set of less statistics, or of another geometry,
    alignment or field than theirs, is refused unless --supersede names them.

    A set that the trigger can read is measured in the trigger's arithmetic, too, with the candidates of its
    run.
    """
    from parkf.params.validity import validity_of
    from parkf.proof.gates import load_thresholds
    from parkf.proof.publishing import publish_run

    limits = {"first_run": first_run, "last_run": last_run, "first_time": first_time, "last_time": last_time}
    given = {name: value for name, value in limits.items() if value is not None}
    with exit_on_error(NO_ANSWER):
        validity = validity_of(given) if given else None
    with exit_on_error(NO):
        refuse_foreign(parameters.absolute().parent)
        published = publish_run(
            parameters,
            registry,
            load_thresholds(gates),
            year=year,
            validity=validity,
            supersede=supersede or (),
        )
    version = published.manifest.version
    path = registry / str(version)
    content = {"version": version, "path": str(path), "sha256": published.sha256}
    print_answer(as_json, content, f"published {path}")


@app.command(epilog='Example: parkf params withdraw 2026-run3-like-2-r001 --reason "UT misaligned"')
def withdraw(
    version: Annotated[str, Argument(help="Version of the set: a folder of the registry.")],
    reason: Annotated[str, Option(help="What is wrong with the set.")],
    registry: OwnRegistry = PARAMS,
) -> None:
    """Mark a published set as one that must not be used any more, for good; its files stay.

    All commands refuse a withdrawn set, but those that show or compare it. Some take --withdrawn.
    """
    from parkf.params.publisher import Publisher

    with exit_on_error(NO):
        Publisher(registry).withdraw(version, reason)
    say(f"withdrawn {registry / version}")


@app.command(epilog="Example: parkf params sign ~/.ssh/id_ed25519")
def sign(
    key: Annotated[Path, Argument(help="SSH key, secret, or public with an agent.")],
    registry: OwnRegistry = PARAMS,
) -> None:
    """Sign the index of a registry with ssh-keygen: index.json.sig.

    Sign again after each publication and withdrawal. `parkf verify --signers FILE` checks the signature.
    """
    from parkf.params.signature import sign

    with exit_on_error(NO):
        signature = sign(registry, key)
    say(f"written {signature}")


@app.command(epilog="Example: parkf params export 2026-run3-like-2-r003 trigger/")
def export(
    name: Set,
    to: Annotated[Path, Argument(help="Folder for params.json and params_UTT_v0.tab, or the other file.")],
    format_: Annotated[
        Literal["trigger", "parquet", "binary"],
        Option(
            "--format",
            help="trigger: its files (production's forms); parquet: a table of all numbers; binary: one file"
            " for the C++ header.",
        ),
    ] = "trigger",
    ut_rows: Annotated[
        UtRows, Option(help="Order of UT's backward rows: as in the trigger of 2026, or as in older code.")
    ] = "2026",
    withdrawn: Withdrawn = False,
    registry: RegistryFolder = None,
) -> None:
    """Write a set as the trigger or the C++ header reads it, or as a table of all its numbers.

    Of a set that is not published, missed gates are named as a warning.
    """
    from parkf.params.exchange import export_parquet, export_trigger
    from parkf.params.parameter_set import load

    with exit_on_error(NO_ANSWER):
        path = registry_in(registry).find(name)
        parameters = load(path, withdrawn=withdrawn)
        if parameters.state != "published":
            say(f"warning: {path}: not published; {_gates_of(path)}", file=sys.stderr)
        if format_ == "parquet":
            export_parquet(parameters, to)
        elif format_ == "binary":
            with replacing(to) as temporary:
                temporary.write_bytes(parameters.form or b"")
        else:
            export_trigger(parameters, to, ut_rows=ut_rows)
    about = {
        "trigger": f", UT's backward rows in the order '{ut_rows}'",
        "binary": f", sha256 {parameters.sha256}",
    }
    say(f"exported to {to}{about.get(format_, '')}")


@app.command("import", epilog="Example: parkf params import trigger/ my-set")
def import_(
    source: Annotated[Path, Argument(help="Folder with the trigger's files, or with older text files.")],
    output: Annotated[Path, Argument(help="Folder of the new set.")],
    rest: Annotated[str | None, Option(help="Set for numbers that files lack: version or folder.")] = None,
    ut_rows: Annotated[UtRows | None, Option(help="Order of UT's backward rows without parkf.json.")] = None,
    registry: RegistryFolder = None,
) -> None:
    """Make a set from the trigger's params.json and params_UTT_v0.tab, or from its older text files."""
    from parkf.params.exchange import import_text_files, import_trigger
    from parkf.params.exchange.text_files import FILES
    from parkf.params.parameter_set import load

    with exit_on_error(NO_ANSWER):
        other = None if rest is None else load(registry_in(registry).find(rest))
        if not (source / FILES[0].name).is_file():
            import_trigger(source, rest=other, ut_rows=ut_rows).save(output)
        elif other is None:
            raise ParkfError(
                f"{source}: older text files lack the magnet table and more; name a set with --rest"
            )
        else:
            import_text_files(source, rest=other).save(output)
    say(f"imported to {output}")


def _gates_of(path: Path) -> str:
    """Say which gates an unpublished set misses, by the figures of its run."""
    from parkf.proof.gates import hold, load_thresholds

    if not (path.absolute().parent / "validation.json").is_file():
        return "nothing beside it says whether it meets its gates"
    missed = [one for one in hold(path, load_thresholds(found(GATES))) if not one.met]
    return "\n".join([f"{len(missed)} gates missed" + ":" * bool(missed), *(f"  {one}" for one in missed)])


@app.command(epilog="Example: parkf params header parkf.hpp")
def header(output: Annotated[Path, Argument(help="The header to write.")]) -> None:
    """Write one C++17 header that loads sets and fits tracks, without parkf."""
    from parkf.fit.consumer import cpp_header

    with replacing(output) as temporary:
        temporary.write_text(cpp_header(), "utf-8")
    say(f"written {output}")
