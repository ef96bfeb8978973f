"""The command line: its commands, in panels, and its exit codes."""

import gc
import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer import Exit, Option, Typer
from typer.core import TyperGroup

import parkf.cli.commands.publication  # noqa: F401 (adds commands to params.app)
from parkf import __version__
from parkf.cli.commands import fitting, importing, monitoring, params, results, running
from parkf.cli.commands.options import check_outputs
from parkf.cli.messages import UsageError, usage
from parkf.io.explained import explained
from parkf.io.process_settings import prepare_process
from parkf.io.terminal import be_quiet, say

# Commands for users are in the order in which a beginner needs them.
PANELS: Mapping[str, Sequence[str]] = {
    "Run": ("init", "run", "realign"),
    "Find your way": ("doctor", "schema", "check", "why"),
    "Look at a run": ("gate", "compare", "verify"),
    "Fit tracks": (
        "candidates",
        "fit",
        "fit-full",
        "monitor",
        "monitor-reference",
        "align",
        "calibrate",
        "move-hits",
    ),
    "Parameter sets": ("params",),
    "Bring your own": ("import", "export", "field", "geometry", "check-dataset", "measure-field"),
}
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


class GroupedCommands(TyperGroup):
    """The commands, in the panels and the order of this module."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands in the order of this module."""
        return list(_PANEL_OF)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, to be shown in its panel."""
        command: Any = super().get_command(ctx, cmd_name)
        if command is not None:
            command.rich_help_panel = _PANEL_OF[cmd_name]
            _prepare(command)
        return command


def _prepare(command: Any) -> None:
    """Protect brackets in the help of a command and its subcommands, because Rich reads [mm] as a style."""
    # Not every version of Typer passes this mode on to commands of another module.
    command.rich_markup_mode = "rich"
    command.epilog = _plain(command.epilog)
    for thing in (command, *command.params):
        thing.help = _plain(getattr(thing, "help", None))
    for below in getattr(command, "commands", {}).values():
        _prepare(below)


def _plain(text: str | None) -> str | None:
    """Escape the brackets that Rich would read as the begin of a style."""
    return None if text is None else re.sub(r"(?<!\\)(?=\[[a-z#/@])", r"\\", text)


app = Typer(
    help="Train, prove and publish the parameters of LHCb's Parameterised Kalman Filter.",
    cls=GroupedCommands,
    epilog="Exit codes. 0: done, or yes. 1: failed, and one line names the reason. 2: wrong usage. "
    "130: interrupted. For parkf params and parkf gate, 1 also means no, and 2 also means that there is no "
    "answer. parkf run exits with Snakemake's codes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for part in (running, fitting, monitoring, results, importing):
    app.add_typer(part.app)
app.add_typer(params.app, name="params")
app.add_typer(importing.geometries, name="geometry")
app.add_typer(importing.exporter, name="export")
app.add_typer(importing.importer, name="import")


def print_version(wanted: bool) -> None:
    """Print the version and exit, if the option is set."""
    if wanted:
        say(f"parkf {__version__}")
        raise Exit


@app.callback()
def options(
    debug: Annotated[bool, Option("--debug", help="Show where in the code an error arose.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="Show answers and errors, but no progress.")] = False,
    version: Annotated[
        bool, Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Read the options that all commands have, except --debug, which :func:`main` reads."""
    if quiet:
        be_quiet()


@cache
def program(of: Typer) -> Any:
    """Return the click.Group of all commands of an application."""
    group = typer.main.get_command(of)
    check_outputs(group)
    return group


def main() -> None:
    """Run the command line: one message and exit code 1 for users' errors, 2 for wrong usage."""
    prepare_process()
    try:
        code = program(app).main(sys.argv[1:], standalone_mode=False, prog_name="parkf")
        # Otherwise, an output without room would only be noticed after the end.
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except UsageError as error:
        _complain(usage(error))
        sys.exit(error.exit_code)
    except Exception as error:
        message = explained(error)
        if message is None or "--debug" in sys.argv:
            raise
        _complain(f"error: {message}")
        _drop_output()
        sys.exit(1)
    finally:
        # Otherwise the interpreter searches all modules for garbage at its exit, for up to 0.3 s.
        gc.freeze()


def _complain(message: str) -> None:
    """Print a message; an argument with a line break stays in one line."""
    for word in sys.argv[1:]:
        if "\n" in word:
            message = message.replace(word, word.replace("\n", "\\n"))
    say(message, file=sys.stderr)


def _drop_output() -> None:
    """Send output that cannot be written to nowhere; the interpreter would try it again at its exit."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
