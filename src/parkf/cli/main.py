"""The command line."""

import gc
import sys
from typing import Annotated

import typer
from typer import Exit, Option, Typer

# This import adds commands to `params`.
import parkf.cli.commands.publication  # noqa: F401
from parkf import __version__
from parkf.cli.commands import fitting, importing, params, results, running, sharing, simulation, training
from parkf.cli.commands.help_groups import GroupedCommands
from parkf.cli.messages import UsageError, explained, usage
from parkf.cli.outputs import check_outputs
from parkf.io.process_settings import prepare_process
from parkf.io.terminal import be_quiet
from parkf.io.usage import Meter

app = Typer(
    help="Train, prove and publish the parameters of LHCb's Parameterised Kalman Filter.",
    cls=GroupedCommands,
    epilog="Exit codes. 0: done, or yes. 1: failed, with one line that names the reason; of parkf params and "
    "parkf gate: no. 2: wrong usage; of those two also: there is no answer. 130: interrupted. "
    "parkf run and parkf supervise exit as Snakemake does.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for part in (simulation, training, running, fitting, results, sharing):
    app.add_typer(part.app)
app.add_typer(params.app, name="params")
app.add_typer(running.families, name="family")
app.add_typer(importing.geometries, name="geometry")
app.add_typer(importing.exporter, name="export")
app.add_typer(importing.importer, name="import")


def print_version(wanted: bool) -> None:
    """Print the version and exit, if the option is set."""
    if wanted:
        print(f"parkf {__version__}")
        raise Exit


@app.callback()
def options(
    debug: Annotated[bool, Option("--debug", help="Show where in the code an error arose.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="Show answers and errors, and no progress.")] = False,
    version: Annotated[
        bool, Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Read the options that all commands have, except --debug, which :func:`main` reads."""
    if quiet:
        be_quiet()


def main() -> None:
    """Run the command line: one message and exit code 1 for users' errors, 2 for wrong usage."""
    meter = Meter()
    prepare_process()
    try:
        command = typer.main.get_command(app)
        check_outputs(command)
        if sharing.JOB in sys.argv:
            sys.exit(sharing.with_job(command, sys.argv[1:]))
        sys.exit(sharing.call(command, sys.argv[1:]))
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
        # Otherwise the interpreter searches all modules for garbage at its exit, for up to 0.3 s.
        gc.freeze()


if __name__ == "__main__":
    main()
