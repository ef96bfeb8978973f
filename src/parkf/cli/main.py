"""The command line: one command for each stage, on files."""

import gc
import sys
from typing import Annotated

import typer

from parkf import __version__
from parkf.cli.commands import (
    asking,
    closing,
    comparing,
    datasets,
    displaying,
    family,
    fitting,
    geometry,
    importing,
    outcome,
    params,
    proof,
    running,
    sharing,
    simulation,
    training,
)
from parkf.cli.commands.panels import CommandsInPanels
from parkf.cli.messages import UsageError, explained, usage
from parkf.io.allocator import settle_memory
from parkf.io.floating_point import settle_arithmetic
from parkf.io.terminal import be_quiet
from parkf.io.usage import Meter

app = typer.Typer(
    help="Train, prove and publish the parameters of LHCb's Parameterised Kalman Filter.",
    cls=CommandsInPanels,
    epilog="Exit codes. 0: done, or yes. 1: it could not be done, and one line says why; of parkf params and "
    "parkf gate: no. 2: it was asked wrongly; of those two also: there is no answer. 130: interrupted. "
    "parkf run and parkf supervise exit as Snakemake does.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for part in (
    *(asking, simulation, datasets, training, closing),
    *(running, fitting, proof, outcome, comparing, displaying, sharing),
):
    app.add_typer(part.app)
app.add_typer(params.app, name="params")
app.add_typer(family.app, name="family")
app.add_typer(geometry.app, name="geometry")
app.add_typer(geometry.exporter, name="export")
app.add_typer(importing.importer, name="import")


def print_version(wanted: bool) -> None:
    """Print the version and end, where the option asks for it."""
    if wanted:
        print(f"parkf {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show where in the code an error arose.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show answers and errors, and no progress.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take what holds for every command; :func:`main` looks for --debug before there is a command."""
    if quiet:
        be_quiet()


def main() -> None:
    """Run the command line; a problem that users can solve is one message and exit code 1, of usage 2."""
    meter = Meter()
    settle_arithmetic()
    settle_memory()
    try:
        code = app(standalone_mode=False, prog_name="parkf")
        sys.exit(code if isinstance(code, int) else 0)
    except UsageError as error:
        print(usage(error), file=sys.stderr)
        sys.exit(error.exit_code)
    except Exception as error:
        message = explained(error)
        if message is None or "--debug" in sys.argv:
            raise
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)
    finally:
        meter.report()
        # Or the interpreter looks through all modules for what is to be freed as it ends, for up to 0.3 s.
        gc.freeze()


if __name__ == "__main__":
    main()
