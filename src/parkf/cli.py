"""The command line: one command for each stage, on files."""

import sys
from typing import Annotated

import typer

from parkf import __version__
from parkf.arithmetic import settle_arithmetic
from parkf.commands import (
    asking,
    closing,
    datasets,
    family,
    fitting,
    importing,
    outcome,
    params,
    proof,
    simulation,
    training,
)
from parkf.commands.panels import CommandsInPanels
from parkf.complaint import explained
from parkf.usage import Meter

app = typer.Typer(
    help="Train, prove and publish the parameters of LHCb's Parameterised Kalman Filter.",
    cls=CommandsInPanels,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for part in (asking, simulation, datasets, training, closing, fitting, proof, outcome):
    app.add_typer(part.app)
app.add_typer(params.app, name="params")
app.add_typer(family.app, name="family")
app.add_typer(importing.importer, name="import")


def print_version(wanted: bool) -> None:
    """Print the version and end, where the option asks for it."""
    if wanted:
        print(f"parkf {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show where in the code an error arose.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take what holds for every command; :func:`main` looks for it before there is a command."""


def main() -> None:
    """Run the command line; a problem that users can solve is one message and exit code 1."""
    meter = Meter()
    settle_arithmetic()
    try:
        app()
    except Exception as error:
        message = explained(error)
        if message is None or "--debug" in sys.argv:
            raise
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)
    finally:
        meter.report()


if __name__ == "__main__":
    main()
