"""``parkf gate``, and gates as a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkf.cli.commands.params.common import NO, NO_ANSWER, Json, exit_on_error, say
from parkf.io.terminal import aligned

if TYPE_CHECKING:
    from parkf.params.manifest import Gate

GATES = Path("workflow/config/gates.yaml")
GatesFile = Annotated[Path, typer.Option("--gates", help="Thresholds, each with its reason.")]


def gate(
    results: Annotated[Path, typer.Argument(help="Folder of a run.")],
    gates: GatesFile = GATES,
    as_json: Json = False,
) -> None:
    """Hold a run's figures against the gates; exits with 1 when one is missed, with 2 without figures."""
    with exit_on_error(NO_ANSWER):
        held = measured_gates(results / "set", gates)
    missed = sum(not one.met for one in held)
    verdict = f"{results}: " + (
        f"{missed} of {len(held)} gates missed" if missed else f"all {len(held)} gates met"
    )
    content = {"passed": missed == 0, "gates": [one.model_dump() for one in held]}
    say(as_json, content, lambda: f"{gate_table(held)}\n\n{verdict}")
    if missed:
        raise typer.Exit(NO)


def measured_gates(parameters: Path, gates: Path) -> "list[Gate]":
    """Hold the figures beside a set's folder against a file of thresholds.

    Raises
    ------
    ParkfError
        As :func:`parkf.proof.gates.load_thresholds` and :func:`parkf.proof.gates.hold`.
    """
    from parkf.proof.gates import hold, load_thresholds

    return hold(parameters, load_thresholds(gates))


def gate_table(gates: "list[Gate]") -> str:
    """Lay out gates: whether met, what, figure, bound."""
    rows = [("met" if one.met else "MISSED", one.what, one.measured, one.bar) for one in gates]
    return aligned(("", "gate", "measured", "bar"), rows)
