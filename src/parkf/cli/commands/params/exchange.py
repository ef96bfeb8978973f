"""``parkf params export``, ``import`` and ``header``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from parkf.cli.commands.answers import NO_ANSWER, exit_on_error
from parkf.cli.commands.options import RegistryFolder, Set, registry_in
from parkf.io.errors import ParkfError
from parkf.io.option_types import UtRows


def export(
    name: Set,
    to: Annotated[
        Path, typer.Argument(help="Folder of params.json and params_UTT_v0.tab, or the Parquet file.")
    ],
    format_: Annotated[
        Literal["trigger", "parquet"],
        typer.Option("--format", help="For the trigger (production's forms), or a row for every number."),
    ] = "trigger",
    ut_rows: Annotated[
        UtRows,
        typer.Option(
            help="UT's backward rows as the trigger's code of 2026 reads them, or as files before it."
        ),
    ] = "2026",
    registry: RegistryFolder = None,
) -> None:
    """Write a set as the trigger reads it, or as a table of all its numbers."""
    from parkf.params.exchange import export_parquet, export_trigger
    from parkf.params.parameter_set import load

    with exit_on_error(NO_ANSWER):
        parameters = load(registry_in(registry).find(name))
        if format_ == "parquet":
            export_parquet(parameters, to)
        else:
            export_trigger(parameters, to, ut_rows=ut_rows)
    order = "" if format_ == "parquet" else f", UT's backward rows in the order '{ut_rows}'"
    print(f"exported to {to}{order}")


def import_(
    source: Annotated[
        Path, typer.Argument(help="Folder with the trigger's files, or with the older text files.")
    ],
    output: Annotated[Path, typer.Argument(help="Folder of the new set.")],
    rest: Annotated[str | None, typer.Option(help="Set for what the files lack: version or folder.")] = None,
    ut_rows: Annotated[
        UtRows | None,
        typer.Option(help="Order of UT's backward rows in a params.json without parkf.json, as for export."),
    ] = None,
    registry: RegistryFolder = None,
) -> None:
    """Make a set from the trigger's params.json and params_UTT_v0.tab, or from its older text files."""
    from parkf.params.exchange import import_text_files, import_trigger
    from parkf.params.exchange.text_files import FILES, usage
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
            print("\n".join(usage()))
    print(f"imported to {output}")


def header(output: Annotated[Path, typer.Argument(help="The header to write.")]) -> None:
    """Write one C++17 header that loads sets and fits tracks, without parkf."""
    from parkf.fit.consumer import cpp_header
    from parkf.io.files import replacing

    with replacing(output) as temporary:
        temporary.write_text(cpp_header())
    print(f"written {output}")
