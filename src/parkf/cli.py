"""The command line: one command for each stage, on files."""

import gc
import sys
from typing import Annotated

import typer

from parkf.arithmetic import settle_arithmetic
from parkf.commands import closing, datasets, family, fitting, outcome, params, proof, simulation, training
from parkf.complaint import explained
from parkf.usage import Meter

app = typer.Typer(
    help="Train, prove and publish the parameters of LHCb's Parameterised Kalman Filter.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for part in (simulation, datasets, training, closing, fitting, proof, outcome):
    app.add_typer(part.app)
app.add_typer(params.app, name="params")
app.add_typer(family.app, name="family")


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show where in the code an error arose.")] = False,
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
        # Or the interpreter looks through all modules for what is to be freed as it ends, for up to 0.3 s.
        gc.freeze()


if __name__ == "__main__":
    main()
