"""The panels in which ``parkf --help`` shows the commands."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperGroup

STAGES = "Stages, which the workflow runs"
# Commands that users type are in the order of a first day. Stages, which rules of the workflow and `make`
# call, are in the order of a run.
PANELS: Mapping[str, Sequence[str]] = {
    "Run": ("init", "run"),
    "Find your way": ("doctor", "schema", "check", "why"),
    "Look at a run": ("where", "gate", "compare", "display", "accuracy", "explain", "verify", "shared"),
    "Fit tracks": ("fit", "fit-full"),
    "Parameter sets": ("params",),
    "Bring your own": ("import", "export", "geometry", "check-dataset"),
    "Many runs at once": ("family",),
    STAGES: (
        *("supervise", "share", "together", "kernel"),
        *("field", "generate", "generate-signal", "simulate", "misalign", "candidates"),
        *("draw", "thresholds", "datasets", "gather-dataset", "gather", "train-table", "train", "join-fits"),
        *("closure-tracks", "close", "take-closure", "train-score", "train-rich", "assemble"),
        *("validate", "throughput", "measure"),
        *("characterise", "characterise-search", "likeness", "report", "stages"),
    ),
}
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


class GroupedCommands(TyperGroup):
    """The commands, in the panels and the order of this module."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands in the order of this module."""
        return list(_PANEL_OF)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, to be shown in its panel."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.rich_help_panel = _PANEL_OF[cmd_name]
            _prepare(command)
        return command


def _prepare(command: Any) -> None:
    """Let help show the brackets in texts of a command and those below it: Rich reads [mm] as a style."""
    # Not every version of Typer passes this on to the commands of another module.
    command.rich_markup_mode = "rich"
    command.epilog = _plain(command.epilog)
    for thing in (command, *command.params):
        thing.help = _plain(getattr(thing, "help", None))
    for below in getattr(command, "commands", {}).values():
        _prepare(below)


def _plain(text: str | None) -> str | None:
    """Escape the brackets that Rich would read as the begin of a style."""
    return None if text is None else re.sub(r"(?<!\\)(?=\[[a-z#/@])", r"\\", text)
