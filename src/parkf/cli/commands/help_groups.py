"""The groups in which ``parkf --help`` shows the commands, with an example of each that users type."""

import re
from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

# Commands that users type, by group in the order of a first day, each with an example to copy.
VERBS: Mapping[str, Mapping[str, str]] = {
    "Run": {
        "init": "parkf init alignment-2026",
        "run": "parkf run smoke",
    },
    "Find your way": {
        "doctor": "parkf doctor",
        "schema": "parkf schema candidates",
        "check": "parkf check workflow/config/default.yaml",
        "why": "parkf why default",
    },
    "Look at a run": {
        "where": "parkf where results/default",
        "gate": "parkf gate results/default",
        "compare": "parkf compare 2026-run3-like-2-r003 results/default",
        "display": "parkf display results/default event.html --event 7 --track 3",
        "accuracy": "parkf accuracy results/default/set",
        "explain": "parkf explain results/default/set --fits results/default/fits",
        "verify": "parkf verify results/default params",
        "shared": "parkf shared",
    },
    "Fit tracks": {
        "fit": "parkf fit 2026-run3-like-2-r008 examples/candidates.parquet fitted.parquet --robust",
        "fit-full": "parkf fit-full examples/candidates.parquet full.parquet"
        " --geometry data/geometry/run3.yaml --alignment data/geometry/alignment_nominal.yaml"
        " --field results/default/field.npz",
    },
    "Parameter sets": {
        "params": "parkf params list",
        "params list": "parkf params list",
        "params for": "parkf params for 300123",
        "params validity": "parkf params validity --detector run3-like",
        "params show": "parkf params show 2026-run3-like-2-r008 --numbers",
        "params diff": "parkf params diff 2026-run3-like-2-r003 results/default/set",
        "params validate": "parkf params validate results/default/set --client trigger",
        "params publish": "parkf params publish results/default/set --first-run 300100",
        "params withdraw": 'parkf params withdraw 2026-run3-like-2-r001 --reason "wrong alignment of the UT"',
        "params export": "parkf params export 2026-run3-like-2-r003 trigger/",
        "params import": "parkf params import trigger/ my-set",
        "params header": "parkf params header parkf.hpp",
        "params reproduce": "parkf params reproduce 2026-run3-like-2-r008 --cores 2",
    },
    "Bring your own": {
        "import": "parkf import field --help",
        "import field": "parkf import field 'LHCb.*.cdf' field.npz --polarity down",
        "import hits": "parkf import hits hits.parquet tracks.parquet --hits own_hits.parquet"
        " --particles own_particles.parquet",
        "import geometry": "parkf import geometry dumps/ --geometry geometry.yaml --alignment alignment.yaml",
        "import alignment": "parkf import alignment conditions.yaml alignment.yaml"
        " --geometry data/geometry/run3.yaml",
        "export": "parkf export alignment --help",
        "export alignment": "parkf export alignment data/geometry/alignment_velo_shift.yaml conditions.yaml",
        "geometry": "parkf geometry check data/geometry/run3.yaml",
        "geometry show": "parkf geometry show data/geometry/run3.yaml run3.png",
        "geometry check": "parkf geometry check data/geometry/run3.yaml",
        "geometry hits": "parkf geometry hits data/geometry/run3_fullsim.yaml hits.parquet",
        "import steps": "parkf import steps 'tuning_*.root' datasets/ --field field.npz --polarity down",
        "check-dataset": "parkf check-dataset UT ut.parquet",
    },
    "Many runs at once": {
        "family": "parkf family members workflow/config/families/alignments.yaml",
        "family members": "parkf family members workflow/config/families/alignments.yaml",
        "family report": "parkf family report results/alignments/index.html results/alignments.nominal"
        " results/alignments.velo_shift",
    },
}
STAGES = "Stages, which the workflow runs"
# Commands that rules of the workflow and `make` call, in the order of a run.
STAGE_COMMANDS = (
    *("supervise", "share", "together", "kernel"),
    *("field", "generate", "generate-signal", "simulate", "misalign", "candidates"),
    *("draw", "thresholds", "datasets", "gather-dataset", "gather", "train-table", "train", "join-fits"),
    *("closure-tracks", "close", "take-closure", "train-score", "train-rich", "assemble"),
    *("validate", "throughput", "measure"),
    *("characterise", "characterise-search", "likeness", "report", "stages"),
)
_EXAMPLES = {name: (group, examples[name]) for group, examples in VERBS.items() for name in examples}
_ORDER = {name: position for position, name in enumerate((*_EXAMPLES, *STAGE_COMMANDS))}


class GroupedCommands(TyperGroup):
    """The commands, in the groups and the order of this module."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands in the order of this module; others come last."""
        return sorted(super().list_commands(ctx), key=lambda name: _ORDER.get(name, len(_ORDER)))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command with its group and example, and with brackets that help shows as they are."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and not hasattr(command, "in_group"):
            _prepare(command, cmd_name)
        return command


def _prepare(command: Any, name: str) -> None:
    """Prepare a command, and those below it, for Typer's help, which hides brackets as styles: [mm]."""
    group, example = _EXAMPLES.get(name, (STAGES, None))
    command.in_group = True
    # Not every version of Typer passes this on to the commands of another module.
    command.rich_markup_mode = "rich"
    command.rich_help_panel = group if " " not in name else None
    command.epilog = None if example is None else f"Example: {_plain(example)}"
    for thing in (command, *command.params):
        if getattr(thing, "help", None):
            thing.help = _plain(thing.help)
    for below, one in getattr(command, "commands", {}).items():
        _prepare(one, f"{name} {below}")


def _plain(text: str) -> str:
    """Escape the brackets that Rich would read as the begin of a style."""
    return re.sub(r"(?<!\\)(?=\[[a-z#/@])", r"\\", text)
